"""Reciprocal rank fusion (Cormack et al. 2009): a paper's score is the sum over rankings of weight / (k + rank)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from citewell.fuse.fusion import Component, Fusion, one_each, side_by_side
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first


@dataclass(frozen=True)
class ReciprocalRank(Fusion):
    """The stage; its parameters are those of ``pipelines.toml``."""

    of: tuple[Component, ...]
    k: float = 60.0
    weights: tuple[float, ...] = ()
    """One for each component; all 1 where none is given."""
    size: int = 1000

    def rank(self, request: Request) -> Ranking:
        papers, ranks = side_by_side([component.rank(request) for component in self.of])
        weights = np.array(one_each(self.weights, self.of))
        shares = np.where(ranks > 0, weights[:, None] / (self.k + ranks), 0.0)
        return best_first(papers, shares.sum(axis=0), self.size)
