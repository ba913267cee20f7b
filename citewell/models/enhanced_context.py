"""The re-ranker of Medić's thesis as it is served: a context, enhanced by the citing paper, against each candidate.

A model is a folder with ``model.onnx``, ``tokenizer.json`` and ``shape.json``. The text of a candidate is read with the context
in mind; who wrote it and how often it was cited, in all and in the last years, count beside that where the variant has them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from citewell import threads
from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.inputs import Inputs, Reader, window_start
from citewell.models.onnx import by_length, session, tokenizer
from citewell.papers import Query

FILE = "shape.json"
NOBODY = 0
"""The number of no author; an empty text is this token, too."""
_BATCH_TOKENS = 8192

Scores = npt.NDArray[np.float32]


class Variant(NamedTuple):
    """What a variant has of the whole model."""

    enhanced: bool
    """The context is enhanced by the citing title and abstract."""
    bibliography: bool
    """Authors and citations count."""
    weighted: bool
    """The context says how much text and bibliography count; else both count the same."""


VARIANTS = {
    "textcon": Variant(False, False, False),
    "textenh": Variant(True, False, False),
    "textbibcon-s": Variant(False, True, False),
    "textbibcon-ws": Variant(False, True, True),
    "textbibenh-s": Variant(True, True, False),
    "textbibenh-ws": Variant(True, True, True),
}


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, and what it reads."""

    variant: str = "textbibenh-ws"
    vocabulary: int = 30522
    words: int = 200
    """Numbers of a token."""
    hidden: int = 100
    """Numbers of a token in its text, in either direction."""
    context: int = 96
    """Tokens round the gap."""
    text: int = 200
    """Tokens of title and abstract, of the citing paper and of a candidate."""
    people: int = 20_000
    """Numbers that stand for authors."""
    author: int = 50
    """Numbers of an author."""
    authors: int = 5
    """So many of a paper count."""
    kernels: tuple[int, ...] = (1, 2)
    """Authors that are seen together."""
    channels: int = 50
    years: int = 4
    """Citations of each of the last years count by themselves."""

    @property
    def parts(self) -> Variant:
        if self.variant not in VARIANTS:
            raise CitewellError(f"there is no variant {self.variant!r}; there are {', '.join(VARIANTS)}")
        return VARIANTS[self.variant]

    @classmethod
    def read(cls, folder: Path) -> Shape:
        found = json.loads((folder / FILE).read_text("utf-8"))
        return cls(**{**found, "kernels": tuple(found["kernels"])})

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


class Candidate(NamedTuple):
    """What is read of a paper."""

    title: str = ""
    abstract: str = ""
    authors: Sequence[str] = ()
    cited: Sequence[int] = ()
    """How often in each of the last years, the last one first, then how often in all."""


def author_number(name: str, people: int) -> int:
    """The number, above 0, of an author: of the family name and the first letter of what stands before it."""
    # Training reads this module on machines that have no library.
    from citewell.hashing import hash64
    from citewell.text.names import family_name

    family = family_name(name)
    if not family:
        return NOBODY
    before, comma, after = name.partition(",")
    letter = (after if comma else before).strip()[:1].casefold()
    return 1 + hash64(family, letter) % (people - 1)


class Sight:
    """What a model of a shape sees of queries and papers, as numbers."""

    def __init__(self, shape: Shape, reader: Reader) -> None:
        self._shape = shape
        self._reader = reader

    def context(self, query: Query) -> tuple[list[int], int]:
        """The tokens round the gap, and its place among them."""
        mask, size = self._reader.mask, self._shape.context
        tokens = self._reader.tokens([query.context])[0]
        place = tokens.index(mask) if mask in tokens else 0
        first = window_start(place, len(tokens), size)
        return tokens[first : first + size] or [NOBODY], place - first if tokens else 0

    def texts(self, texts: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Titles with abstracts as tokens, cut; what is empty is one token all the same."""
        flat = iter(self._reader.tokens([part for text in texts for part in text]))
        return [(title + abstract)[: self._shape.text] or [NOBODY] for title, abstract in zip(flat, flat, strict=True)]

    def authors(self, papers: Sequence[Candidate]) -> npt.NDArray[np.int64]:
        """Who wrote each paper, a row each."""
        authors = np.full((len(papers), self._shape.authors), NOBODY, np.int64)
        for row, paper in enumerate(papers):
            names = [author_number(name, self._shape.people) for name in paper.authors[: self._shape.authors]]
            authors[row, : len(names)] = names
        return authors

    def cited(self, papers: Sequence[Candidate]) -> Scores:
        """How often each paper was cited, a row each."""
        cited = np.zeros((len(papers), self._shape.years + 1), np.float32)
        for row, paper in enumerate(papers):
            cited[row, : len(paper.cited)] = paper.cited
        return cited


class EnhancedContext:
    """One model, loaded when it is first used."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.shape = Shape.read(folder)
        self._folder = folder

    @cached_property
    def _session(self) -> Any:
        return session(self._folder)

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.shape, Reader(tokenizer(self._folder), Inputs()))

    def scores(self, query: Query, papers: Sequence[Candidate]) -> Scores:
        """How well each paper fits the gap."""
        asked = self._asked(query)
        tokens = self._sight.texts([(paper.title, paper.abstract) for paper in papers])
        scores = np.zeros(len(papers), np.float32)

        def score(places: npt.NDArray[np.int64]) -> None:
            ids = np.zeros((len(places), len(tokens[places[0]])), np.int64)
            for row, place in enumerate(places.tolist()):
                ids[row, : len(tokens[place])] = tokens[place]
            lengths = np.array([len(tokens[place]) for place in places.tolist()], np.int32)
            known = self._known([papers[place] for place in places.tolist()])
            inputs = {**asked, "papers": ids, "lengths": lengths, **known}
            scores[places] = graph.run(["scores"], inputs)[0]

        graph = self._session
        for _ in threads.ordered_map(score, by_length([len(each) for each in tokens], _BATCH_TOKENS)):
            pass
        return scores

    def _asked(self, query: Query) -> dict[str, npt.NDArray[Any]]:
        """The context with the place of its gap, and the citing paper."""
        context, gap = self._sight.context(query)
        found = {"context": np.array([context], np.int64), "gap": np.array([gap], np.int64)}
        if self.shape.parts.enhanced:
            found["citing"] = np.array(self._sight.texts([(query.title, query.abstract)]), np.int64)
        return found

    def _known(self, papers: Sequence[Candidate]) -> dict[str, npt.NDArray[Any]]:
        """Authors and citations."""
        if not self.shape.parts.bibliography:
            return {}
        return {"authors": self._sight.authors(papers), "cited": self._sight.cited(papers)}


def available(name: str) -> bool:
    """Whether there is such a model."""
    return all((weights.folder(name) / file).is_file() for file in ("model.onnx", FILE))


@lru_cache(maxsize=2)
def load(name: str) -> EnhancedContext:
    """The model called `name`."""
    if not available(name):
        raise CitewellError(
            f"there is no model {name!r}; train it with 'citewell train medic-{name}' and put its folder into $CITEWELL_MODELS"
        )
    return EnhancedContext(name, weights.folder(name))
