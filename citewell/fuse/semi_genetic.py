"""The semi-genetic hybrid of HybridCite: papers drawn at random by the reciprocal ranks that the components give them.

The first papers of each component are the population; a paper's fitness is the sum of its reciprocal ranks, and divided by the
sum of all it is the probability with which the paper is drawn. Papers are sorted by how often n draws with replacement give
them. In expectation that is n times the probability, and sorting by it needs no draw: `draws` = 0 does that, the fast default,
which n draws only blur.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from citewell.fuse.fusion import Component, Fusion, side_by_side
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first


@dataclass(frozen=True)
class SemiGenetic(Fusion):
    """The stage; its parameters are those of ``pipelines.toml``."""

    of: tuple[Component, ...]
    first: int = 500
    """How many papers of each component are in the population."""
    draws: int = 0
    """How many samples are drawn; 0 for the exact expectation."""
    seed: int = 0
    size: int = 1000

    def rank(self, request: Request) -> Ranking:
        rankings = [component.rank(request) for component in self.of]
        papers, ranks = side_by_side([Ranking(each.papers[: self.first], each.scores[: self.first]) for each in rankings])
        fitness = np.divide(1.0, ranks, out=np.zeros(ranks.shape), where=ranks > 0).sum(axis=0)
        if not len(papers):
            return best_first(papers, fitness, self.size)
        chance = fitness / fitness.sum()
        if not self.draws:
            return best_first(papers, chance, self.size)
        drawn = np.random.default_rng(self._seed(request)).multinomial(self.draws, chance)
        return best_first(papers, drawn.astype(np.float64), self.size)

    def _seed(self, request: Request) -> list[int]:
        """The same draws for the same query, others for another."""
        text = blake2b(request.query.text().encode("utf-8", "replace"), digest_size=8)
        return [self.seed, int.from_bytes(text.digest(), "little")]
