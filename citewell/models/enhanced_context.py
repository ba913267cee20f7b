"""Medić's enhanced-context re-ranker: compares a context, enhanced by the citing paper, with each candidate.

A model is a folder with ``model.onnx``, ``tokenizer.json`` and ``shape.json``. The text of a candidate is read with attention
conditioned on the context. Some variants add the candidate's authors and its citation counts, in total and per recent year.
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
from citewell.models.inputs import Inputs, TokenReader, window_start
from citewell.models.onnx import by_length, session, tokenizer
from citewell.papers import Query
from citewell.types import Float32Array, IntArray

FILE = "shape.json"
PADDING = 0
"""The padding token, which also stands for an empty text and for no author."""
_BATCH_TOKENS = 8192


class Variant(NamedTuple):
    """The parts of the full model that a variant has."""

    enhanced: bool
    """The citing title and abstract enhance the context."""
    bibliography: bool
    """Authors and citation counts are scored."""
    weighted: bool
    """The context decides the weights of text and bibliography; otherwise both have the same weight."""


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
    """The dimensions of a model, and how much it reads."""

    variant: str = "textbibenh-ws"
    vocabulary: int = 30522
    words: int = 200
    """Dimensions of a word vector."""
    hidden: int = 100
    """Dimensions of a hidden state, per direction."""
    context: int = 96
    """Tokens around the gap."""
    text: int = 200
    """Tokens of title and abstract, of the citing paper and of a candidate."""
    people: int = 20_000
    """Size of the table of author vectors, into which names are hashed."""
    author: int = 50
    """Dimensions of an author vector."""
    authors: int = 5
    """How many authors of a paper are read."""
    kernels: tuple[int, ...] = (1, 2)
    """Widths of the convolutions over authors."""
    channels: int = 50
    years: int = 4
    """How many recent years have a citation count of their own."""

    @property
    def parts(self) -> Variant:
        if self.variant not in VARIANTS:
            raise CitewellError(f"there is no variant {self.variant!r}; choose one of {', '.join(VARIANTS)}")
        return VARIANTS[self.variant]

    @classmethod
    def read(cls, folder: Path) -> Shape:
        values = json.loads((folder / FILE).read_text("utf-8"))
        return cls(**{**values, "kernels": tuple(values["kernels"])})

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


class Candidate(NamedTuple):
    """A paper as the model reads it."""

    title: str = ""
    abstract: str = ""
    authors: Sequence[str] = ()
    cited: Sequence[int] = ()
    """Citation counts: one per recent year, latest first, then the total."""


def author_number(name: str, people: int) -> int:
    """The row of an author in the table, above 0: a hash of the family name and the first initial."""
    # Imported here: training reads this module on machines without the library's dependencies.
    from citewell.hashing import hash64
    from citewell.text.author_terms import family_name
    from citewell.text.names import parse

    family = family_name(parse(name))
    if not family:
        return PADDING
    before, comma, after = name.partition(",")
    letter = (after if comma else before).strip()[:1].casefold()
    return 1 + hash64(family, letter) % (people - 1)


class TensorInputs:
    """Queries and papers as the input arrays of a model."""

    def __init__(self, shape: Shape, reader: TokenReader) -> None:
        self._shape = shape
        self._reader = reader

    def context(self, query: Query) -> tuple[list[int], int]:
        """The tokens around the gap, and the position of the gap among them."""
        mask, size = self._reader.mask, self._shape.context
        tokens = self._reader.tokens([self._reader.gap_text(query)])[0]
        place = tokens.index(mask) if mask in tokens else 0
        first = window_start(place, len(tokens), size)
        return tokens[first : first + size] or [PADDING], place - first if tokens else 0

    def texts(self, texts: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Titles and abstracts as tokens, cut to the budget; an empty text becomes one padding token."""
        flat = iter(self._reader.tokens([part for text in texts for part in text]))
        return [(title + abstract)[: self._shape.text] or [PADDING] for title, abstract in zip(flat, flat, strict=True)]

    def authors(self, papers: Sequence[Candidate]) -> IntArray:
        """The authors of each paper, one row per paper."""
        authors = np.full((len(papers), self._shape.authors), PADDING, np.int64)
        for row, paper in enumerate(papers):
            names = [author_number(name, self._shape.people) for name in paper.authors[: self._shape.authors]]
            authors[row, : len(names)] = names
        return authors

    def cited(self, papers: Sequence[Candidate]) -> Float32Array:
        """The citation counts of each paper, one row per paper."""
        cited = np.zeros((len(papers), self._shape.years + 1), np.float32)
        for row, paper in enumerate(papers):
            cited[row, : len(paper.cited)] = paper.cited
        return cited


class EnhancedContext:
    """One model; loaded on first use."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.shape = Shape.read(folder)
        self._folder = folder

    @cached_property
    def _session(self) -> Any:
        return session(self._folder)

    @cached_property
    def _inputs(self) -> TensorInputs:
        return TensorInputs(self.shape, TokenReader(tokenizer(self._folder), Inputs.read(self._folder) or Inputs()))

    def scores(self, query: Query, papers: Sequence[Candidate]) -> Float32Array:
        """How well each paper fits the gap."""
        query_inputs = self._query_inputs(query)
        tokens = self._inputs.texts([(paper.title, paper.abstract) for paper in papers])
        scores = np.zeros(len(papers), np.float32)
        graph = self._session

        def score(places: IntArray) -> None:
            ids = np.zeros((len(places), len(tokens[places[0]])), np.int64)
            for row, place in enumerate(places.tolist()):
                ids[row, : len(tokens[place])] = tokens[place]
            lengths = np.array([len(tokens[place]) for place in places.tolist()], np.int32)
            bibliography = self._bibliography_inputs([papers[place] for place in places.tolist()])
            inputs = {**query_inputs, "papers": ids, "lengths": lengths, **bibliography}
            scores[places] = graph.run(["scores"], inputs)[0]

        for _ in threads.ordered_map(score, by_length([len(each) for each in tokens], _BATCH_TOKENS)):
            pass
        return scores

    def _query_inputs(self, query: Query) -> dict[str, npt.NDArray[Any]]:
        """The context, the position of its gap, and the citing paper."""
        context, gap = self._inputs.context(query)
        inputs = {"context": np.array([context], np.int64), "gap": np.array([gap], np.int64)}
        if self.shape.parts.enhanced:
            inputs["citing"] = np.array(self._inputs.texts([(query.title, query.abstract)]), np.int64)
        return inputs

    def _bibliography_inputs(self, papers: Sequence[Candidate]) -> dict[str, npt.NDArray[Any]]:
        """Authors and citation counts, if the variant reads them."""
        if not self.shape.parts.bibliography:
            return {}
        return {"authors": self._inputs.authors(papers), "cited": self._inputs.cited(papers)}


def available(name: str) -> bool:
    """Whether the model exists."""
    return all((weights.folder(name) / file).is_file() for file in ("model.onnx", FILE))


@lru_cache(maxsize=2)
def load(name: str) -> EnhancedContext:
    """The model called `name`."""
    if not available(name):
        raise CitewellError(
            f"there is no model {name!r}; train it with 'citewell train medic-{name}' and put its folder into $CITEWELL_MODELS"
        )
    return EnhancedContext(name, weights.folder(name))
