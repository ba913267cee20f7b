"""Reciprocal rank fusion (Cormack et al. 2009): a paper's score is the sum over rankings of weight / (k + rank)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.fuse.fusion import component_weights, ranks_of
from citewell.papers import Ranking
from citewell.pipeline.contract import Component, Fusion
from citewell.ranking.request import Request
from citewell.ranking.top_k import rank


@dataclass(frozen=True)
class ReciprocalRank(Fusion):
    """Reciprocal rank fusion of pipelines."""

    of: tuple[Component, ...]
    k: float = 60.0
    weights: tuple[float, ...] = ()
    """One for each component; all 1 where none is given."""
    size: int = 1000

    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        papers, ranks = ranks_of(rankings)
        weights = np.array(component_weights(self.weights, self.of))
        shares = np.where(ranks > 0, weights[:, None] / (self.k + ranks), 0.0)
        return rank(papers, shares.sum(axis=0), self.size)
