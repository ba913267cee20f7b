"""An ensemble: papers and sentences by the sum, or the highest, of the scores that several pipelines give them, as they are.

Other fusions bring scores to one scale first; this one is for models of one kind, whose scores mean the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.fuse.fusion import Component, Fusion
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, ranked
from citewell.ranking.top_k import before_the_rest, first_of_each

_WAYS = {"sum": np.add, "max": np.maximum}


class Scoring(Component, Protocol):
    """A pipeline that can score papers which it may not have found."""

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]: ...


@dataclass(frozen=True)
class Ensemble(Fusion):
    """The stage; its parameters are those of ``pipelines.toml``."""

    of: tuple[Scoring, ...]
    how: str = "sum"
    """``sum`` or ``max``."""
    depth: int = 100
    """So many of the best of each pipeline are scored by all; the others follow as they come."""

    def __post_init__(self) -> None:
        if self.how not in _WAYS:
            raise CitewellError(f"an ensemble cannot be made by {self.how!r}; choose one of {', '.join(_WAYS)}")

    def rank(self, request: Request) -> Ranking:
        found = [component.rank(request).papers for component in self.of]
        best = np.unique(np.concatenate([papers[: self.depth] for papers in found]))
        scores = _WAYS[self.how].reduce([component.score(request, best).astype(np.float64) for component in self.of])
        rest = first_of_each(np.concatenate([papers[self.depth :] for papers in found]))
        return before_the_rest(best, scores, rest[~np.isin(rest, best)])

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        """All sentences that any of the pipelines ranks; one that a pipeline leaves out has 0 from it."""
        parts = [component.sentences(request, papers) for component in self.of]
        scores = {}
        for num in papers:
            here = [(part.places[part.papers == num], part.scores[part.papers == num]) for part in parts]
            size = 1 + max(int(places.max(initial=-1)) for places, _ in here)
            rows = np.zeros((len(here), size))
            for row, (places, values) in zip(rows, here, strict=True):
                row[places] = values
            scores[num] = _WAYS[self.how].reduce(rows)
        return ranked(scores)
