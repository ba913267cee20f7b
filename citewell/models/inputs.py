"""What an encoder reads of a query or a paper: parts in a fixed order, each cut to its budget of tokens, parted by ``[SEP]``.

A query begins with the name of its task; the place of a missing citation is ``[MASK]``, other citations are ``[UNK]``. A paper
is its title, what others say where they cite it (so many of its newest contexts, each a window round the citation), and its
abstract, which gets what is left. The budgets belong to a model: its folder holds them as ``inputs.json``, and training packs
texts by the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from citewell.papers import OTHER_MARK, TARGET_MARK, Query

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CLS, SEP, MASK = "[CLS]", "[SEP]", "[MASK]"
FILE = "inputs.json"
_CHARACTERS = 8192
"""Of a longer text nothing beyond this can be among the tokens that count."""


@dataclass(frozen=True)
class Inputs:
    """The budgets, in tokens."""

    query: int = 192
    """Of a query in all."""
    context: int = 112
    """Of the text round a gap, as many before it as after it."""
    topic: int = 64
    """Of a topic sentence or a question."""
    title: int = 32
    """Of the citing title."""
    paper: int = 256
    """Of a paper in all."""
    paper_title: int = 40
    contexts: int = 4
    """How many cited contexts."""
    window: int = 40
    """Of each of them."""

    @classmethod
    def read(cls, folder: Path) -> Inputs | None:
        """The budgets of the model in a folder, None where it has none of its own."""
        path = folder / FILE
        return cls(**json.loads(path.read_text("utf-8"))) if path.is_file() else None

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


class PaperText(NamedTuple):
    """What an encoder may read of a paper; what it shall not read is left empty."""

    title: str = ""
    abstract: str = ""
    contexts: Sequence[str] = ()
    """What others say of it, or it of others, in the order of time."""

    def own(self) -> str:
        """Title and abstract as one text."""
        return ". ".join(part for part in (self.title.rstrip("."), self.abstract) if part)

    def parts(self) -> list[str]:
        """All of it, each part as a text of its own."""
        return [*filter(None, [self.own()]), *self.contexts]


class Reader:
    """Turns queries and papers into token numbers."""

    def __init__(self, tokenizer: Tokenizer, inputs: Inputs) -> None:
        self._tokenizer = tokenizer
        self._inputs = inputs
        self.cls, self.sep, self.mask = (tokenizer.token_to_id(token) or 0 for token in (CLS, SEP, MASK))

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The bare tokens of some texts."""
        marked = [text[:_CHARACTERS].replace(TARGET_MARK, f" {MASK} ").replace(OTHER_MARK, " [UNK] ") for text in texts]
        return [each.ids for each in self._tokenizer.encode_batch(marked, add_special_tokens=False)]

    def query(self, query: Query) -> list[int]:
        """A query as the encoder reads it."""
        sizes = self._inputs
        prefix, context, title, abstract = self.tokens([f"{query.task}:", query.context, query.title, query.abstract])
        said = centred(context, self.mask, sizes.context) if query.task == "local" else context[: sizes.topic]
        return laid_out([prefix + said, title[: sizes.title], abstract], sizes.query, self.cls, self.sep)

    def papers(self, papers: Sequence[PaperText]) -> list[list[int]]:
        """Papers as the encoder reads them: the title, the newest contexts, the abstract."""
        sizes = self._inputs
        newest = [paper.contexts[-sizes.contexts :] if sizes.contexts else () for paper in papers]
        flat = [text for paper, said in zip(papers, newest, strict=True) for text in (paper.title, *said, paper.abstract)]
        tokens = iter(self.tokens(flat))
        found = []
        for contexts in newest:
            title = next(tokens)[: sizes.paper_title]
            said = [centred(next(tokens), self.mask, sizes.window) for _ in contexts]
            found.append(laid_out([title, *said, next(tokens)], sizes.paper, self.cls, self.sep))
        return found


def centred(tokens: Sequence[int], mask: int, size: int) -> list[int]:
    """At most `size` tokens round the first `mask`, or the first ones where there is none."""
    start = window_start(tokens.index(mask) if mask in tokens else 0, len(tokens), size)
    return list(tokens[start : start + size])


def window_start(place: int, length: int, size: int) -> int:
    """Where a window of `size` tokens round `place` begins in a text of `length` tokens."""
    return max(0, min(place - size // 2, length - size))


def laid_out(parts: Sequence[Sequence[int]], size: int, cls: int, sep: int) -> list[int]:
    """Parts behind one another, `sep` after each, empty ones left out, cut to `size`; the last token is always `sep`."""
    found = [cls]
    for part in parts:
        if part:
            found += [*part, sep]
    return found if len(found) <= size else [*found[: size - 1], sep]
