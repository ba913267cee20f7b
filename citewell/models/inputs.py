"""What an encoder reads of a query or a paper: parts in a fixed order, each cut to a token budget, separated by ``[SEP]``.

A query starts with the name of its task and its context, or ends with its context (`Inputs.context_last`); its gap is
``[MASK]``, other citations are ``[UNK]``. A paper is its title, its newest cited contexts (each a window around the citation),
and its abstract, which gets the rest of the budget. The budgets belong to a model: they are in its folder as ``inputs.json``,
and training packs texts with the same ones.

A classifier of pairs (`pair`) reads plain texts instead: title and abstract of the query, then those of the paper; the longer
one loses tokens at its end until both fit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from citewell.errors import CitewellError
from citewell.models.special_tokens import SpecialTokens
from citewell.papers import OTHER_MARK, TARGET_MARK, Query
from citewell.text.context_window import cut_context

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "inputs.json"
_CHARACTERS = 8192
"""Longer texts are cut: no token beyond this is ever read."""


LAYOUT = ("context_characters", "context_last", "context_mark")
"""The settings of `Inputs` that are no budgets: models share a pack only if these are equal."""


@dataclass(frozen=True)
class Inputs:
    """Token budgets, and the layout of queries."""

    query: int = 192
    """A query in total."""
    context: int = 112
    """The text around the gap, half before it and half after."""
    topic: int = 64
    """A topic sentence or a question."""
    title: int = 32
    """The citing title."""
    paper: int = 256
    """A paper in total."""
    paper_title: int = 40
    contexts: int = 4
    """The number of cited contexts."""
    window: int = 40
    """Each cited context."""
    pair: int = 0
    """A query and a paper together, with special tokens, if they are read as plain texts; 0: they are not."""
    context_characters: int = 0
    """How many characters of the text are read on either side of the gap; 0: as many as the tokens allow."""
    context_last: bool = False
    """A query is the citing title and abstract, then the context or topic sentence, without the name of its task."""
    context_mark: str = ""
    """The token before a context that is last; none: a separator."""

    @property
    def abstract(self) -> int:
        """The citing abstract, if the context comes after it and must not be cut; special tokens are counted."""
        return max(0, self.query - self.title - max(self.context, self.topic) - 4) if self.context_last else self.query

    def gap_text(self, text: str) -> str:
        """The part of the text around a gap that is read."""
        return cut_context(text, self.context_characters) if self.context_characters else text

    @classmethod
    def read(cls, folder: Path) -> Inputs | None:
        """The budgets in a model's folder; None if it has none."""
        path = folder / FILE
        return cls(**json.loads(path.read_text("utf-8"))) if path.is_file() else None

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


class PaperText(NamedTuple):
    """The parts of a paper that an encoder may read; the others stay empty."""

    title: str = ""
    abstract: str = ""
    contexts: Sequence[str] = ()
    """Cited or citing contexts, oldest first."""

    def own(self) -> str:
        """Title and abstract as one text."""
        return ". ".join(part for part in (self.title.rstrip("."), self.abstract) if part)

    def parts(self) -> list[str]:
        """Title and abstract, then each context, as separate texts."""
        return [*filter(None, [self.own()]), *self.contexts]


class TokenReader:
    """Turns queries and papers into token ids."""

    def __init__(self, tokenizer: Tokenizer, inputs: Inputs) -> None:
        self._tokenizer = tokenizer
        self._inputs = inputs
        self.special = SpecialTokens.of(tokenizer)
        self.cls, self.sep, self.mask = self.special[:3]
        self.context_mark = self._token(inputs.context_mark) if inputs.context_mark else self.sep

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of some texts, without special tokens."""
        gap, other = f" {self.special.gap} ", f" {self.special.other} "
        masked = [text[:_CHARACTERS].replace(TARGET_MARK, gap).replace(OTHER_MARK, other) for text in texts]
        return [each.ids for each in self._tokenizer.encode_batch(masked, add_special_tokens=False)]

    def query(self, query: Query) -> list[int]:
        """The token ids of a query."""
        budgets, local = self._inputs, query.task == "local"
        texts = [f"{query.task}:", self.gap_text(query), query.title, query.abstract]
        prefix, context, title, abstract = self.tokens(texts)
        text = centre(context, self.mask, budgets.context) if local else context[: budgets.topic]
        if not budgets.context_last:
            return join_parts([prefix + text, title[: budgets.title], abstract], budgets.query, self.cls, self.sep)
        own = join_parts([title[: budgets.title], abstract[: budgets.abstract]], budgets.query, self.cls, self.sep)
        if not text:
            return own
        before = own if len(own) == 1 else own[:-1]
        return [*before, self.context_mark, *text, self.sep]

    def gap_text(self, query: Query) -> str:
        """The part of a query's context that is read."""
        return self._inputs.gap_text(query.context) if query.task == "local" else query.context

    def _token(self, name: str) -> int:
        number = self._tokenizer.token_to_id(name)
        if number is None:
            raise CitewellError(f"the vocabulary has no token {name!r}; name one that it has as context_mark, or none")
        return int(number)

    def papers(self, papers: Sequence[PaperText]) -> list[list[int]]:
        """The token ids of papers: title, newest contexts, abstract."""
        budgets = self._inputs
        newest = [paper.contexts[-budgets.contexts :] if budgets.contexts else () for paper in papers]
        both = zip(papers, newest, strict=True)
        flat = [text for paper, contexts in both for text in (paper.title, *contexts, paper.abstract)]
        tokens = iter(self.tokens(flat))
        token_lists = []
        for contexts in newest:
            title = next(tokens)[: budgets.paper_title]
            windows = [centre(next(tokens), self.mask, budgets.window) for _ in contexts]
            token_lists.append(join_parts([title, *windows, next(tokens)], budgets.paper, self.cls, self.sep))
        return token_lists

    def plain(self, texts: Sequence[tuple[str, str]], size: int) -> list[list[int]]:
        """Titles and abstracts as plain texts of at most `size` tokens."""
        flat = iter(self.tokens([part for text in texts for part in text]))
        return [(title + abstract)[:size] for title, abstract in zip(flat, flat, strict=True)]

    def pair(self, query: Sequence[int], paper: Sequence[int]) -> tuple[list[int], int]:
        """A plain query and a plain paper as one text within the budget, and where the paper begins in it."""
        first, second = trimmed(len(query), len(paper), self._inputs.pair - 3)
        return [self.cls, *query[:first], self.sep, *paper[:second], self.sep], first + 2


def trimmed(first: int, second: int, size: int) -> tuple[int, int]:
    """The lengths of two texts after tokens are taken from the longer one until both fit into `size`."""
    half = size // 2
    if first + second <= size:
        return first, second
    if first <= size - half:
        return first, size - first
    return (size - second, second) if second <= half else (size - half, half)


def centre(tokens: Sequence[int], mask: int, size: int) -> list[int]:
    """At most `size` tokens around the first `mask`, or the first ones if there is none."""
    start = window_start(tokens.index(mask) if mask in tokens else 0, len(tokens), size)
    return list(tokens[start : start + size])


def window_start(place: int, length: int, size: int) -> int:
    """The start of a window of `size` tokens around `place` in a text of `length` tokens."""
    return max(0, min(place - size // 2, length - size))


def join_parts(parts: Sequence[Sequence[int]], size: int, cls: int, sep: int) -> list[int]:
    """Join the non-empty parts with `sep` after each, cut to `size`; the last token is always `sep`."""
    tokens = [cls]
    for part in parts:
        if part:
            tokens += [*part, sep]
    return tokens if len(tokens) <= size else [*tokens[: size - 1], sep]
