"""The semi-genetic hybrid of HybridCite: papers sampled by the reciprocal ranks that the components give them.

The first papers of each component are the population; a paper's fitness is the sum of its reciprocal ranks, and its share of
the total fitness is the probability of drawing it. Papers are sorted by how often n draws with replacement return them. In
expectation that is n times the probability, and sorting by the expectation needs no draw: `draws` = 0, the default, does that.
Papers at the same rank of two components are equal in expectation, so they come in a random order, as draws would put them.
The text of the study treats all components alike; its code gives the three of Hybrid23 the weights 20, 20 and 60.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from citewell.fuse.fusion import component_weights, ranks_of
from citewell.papers import Ranking
from citewell.pipeline.contract import Component, Fusion
from citewell.ranking.request import Request


@dataclass(frozen=True)
class SemiGenetic(Fusion):
    """HybridCite's semi-genetic fusion of pipelines."""

    of: tuple[Component, ...]
    first: int = 500
    """How many papers of each component are in the population."""
    draws: int = 0
    """How many samples are drawn; 0 for the exact expectation."""
    seed: int = 0
    weights: tuple[float, ...] = ()
    """The share of each component in the fitness; equal if empty."""
    size: int = 1000

    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        papers, ranks = ranks_of([ranking.top(self.first) for ranking in rankings])
        weights = np.array(component_weights(self.weights, self.of), np.float64)
        fitness = weights @ np.divide(1.0, ranks, out=np.zeros(ranks.shape), where=ranks > 0)
        if not len(papers):
            return Ranking.empty()
        scores = fitness / fitness.sum()
        random = np.random.default_rng(self._seed(request))
        if self.draws:
            drawn = random.multinomial(self.draws, scores)
            papers, scores = papers[drawn > 0], drawn[drawn > 0].astype(np.float64)
        order = np.lexsort((random.random(len(papers)), -scores))[: self.size]
        return Ranking(papers[order], scores[order].astype(np.float32))

    def _seed(self, request: Request) -> list[int]:
        """The same random numbers for the same query, others for another."""
        text = blake2b(request.query.text().encode("utf-8", "replace"), digest_size=8)
        return [self.seed, int.from_bytes(text.digest(), "little")]
