"""An ensemble: papers and sentences by the sum, or the maximum, of the raw scores that several pipelines give them.

Other fusions bring scores to one scale first; this one is for models of one kind, whose scores mean the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.errors import CitewellError
from citewell.papers import Ranking
from citewell.pipeline.contract import Component, Fusion
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.ranking.top_k import rank_first, unique_in_order

_COMBINE = {"sum": np.add, "max": np.maximum}


@dataclass(frozen=True)
class ScoreEnsemble(Fusion):
    """The sum or the maximum of the scores of pipelines that can score any paper."""

    of: tuple[Component, ...]
    how: str = "sum"
    """``sum`` or ``max``."""
    depth: int = 100
    """How many of the top papers of each pipeline are scored by all; the others follow in their order."""

    def __post_init__(self) -> None:
        if self.how not in _COMBINE:
            raise CitewellError(f"An ensemble cannot combine scores by {self.how!r}. Choose one of {', '.join(_COMBINE)}.")

    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        top = np.unique(np.concatenate([ranking.papers[: self.depth] for ranking in rankings]))
        scores = [np.nan_to_num(component.score(request, top).astype(np.float64)) for component in self.of]
        rest = unique_in_order(np.concatenate([ranking.papers[self.depth :] for ranking in rankings]))
        return rank_first(top, _COMBINE[self.how].reduce(scores), rest[~np.isin(rest, top)])

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        """All sentences that any of the pipelines ranks; one that a pipeline leaves out gets 0 from it."""
        parts = [component.sentences(request, part, papers) for component, part in zip(self.of, ranking.trace, strict=True)]
        scores = {}
        for number in papers:
            here = [(part.places[part.papers == number], part.scores[part.papers == number]) for part in parts]
            size = 1 + max(int(places.max(initial=-1)) for places, _ in here)
            rows = np.zeros((len(here), size))
            for row, (places, values) in zip(rows, here, strict=True):
                row[places] = values
            scores[number] = _COMBINE[self.how].reduce(rows)
        return rank_sentences(scores)
