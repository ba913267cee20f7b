"""A weighted sum of scores, each ranking's scaled to reach from 0, its worst, to 1, its best; who is not in it gets 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citewell.fuse.fusion import Component, Fusion, one_each, side_by_side
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first


@dataclass(frozen=True)
class WeightedSum(Fusion):
    """The stage; its parameters are those of ``pipelines.toml``."""

    of: tuple[Component, ...]
    weights: tuple[float, ...] = ()
    """One for each component; all 1 where none is given."""
    size: int = 1000

    def rank(self, request: Request) -> Ranking:
        rankings = [component.rank(request) for component in self.of]
        papers, ranks = side_by_side(rankings)
        weights = one_each(self.weights, self.of)
        total = np.zeros(len(papers))
        for weight, ranking, places in zip(weights, rankings, ranks, strict=True):
            if len(ranking.papers):
                scores = ranking.scores.astype(np.float64)
                spread = scores[0] - scores[-1]
                scaled = (scores - scores[-1]) / spread if spread > 0 else np.ones(len(scores))
                found = places > 0
                # The last of a ranking was still found, unlike those that are not in it.
                total[found] += weight * np.maximum(scaled[places[found] - 1], 1e-6)
        return best_first(papers, total, self.size)
