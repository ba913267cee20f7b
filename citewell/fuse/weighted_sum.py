"""A weighted sum of scores, each ranking's scaled from 0 (its last paper) to 1 (its first); absent papers get 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.fuse.fusion import component_weights, ranks_of
from citewell.papers import Ranking
from citewell.pipeline.contract import Component, Fusion
from citewell.ranking.request import Request
from citewell.ranking.top_k import rank

_LAST = 1e-6
"""What the last paper of a ranking gets: unlike absent papers, it was retrieved."""


@dataclass(frozen=True)
class WeightedSum(Fusion):
    """A weighted sum of the scaled scores of pipelines."""

    of: tuple[Component, ...]
    weights: tuple[float, ...] = ()
    """One for each component; all 1 where none is given."""
    size: int = 1000

    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        papers, ranks = ranks_of(rankings)
        total = np.zeros(len(papers))
        for weight, ranking, row in zip(component_weights(self.weights, self.of), rankings, ranks, strict=True):
            if len(ranking.papers):
                scores = ranking.scores.astype(np.float64)
                spread = scores[0] - scores[-1]
                scaled = (scores - scores[-1]) / spread if spread > 0 else np.ones(len(scores))
                present = row > 0
                total[present] += weight * np.maximum(scaled[row[present] - 1], _LAST)
        return rank(papers, total, self.size)
