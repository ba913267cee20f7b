"""Re-ranking by co-citation: boosts papers that are often co-cited with the top results.

The top of a ranking is right more often than the top of any of its parts, so papers are compared with it once more. The top
papers count by a softmax of their scores: one that stands out counts for nearly all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from citewell.errors import CitewellError
from citewell.expand.links import PATHS, co_citation_sentence
from citewell.expand.proximity import path_counts, shared_neighbours
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Reranker
from citewell.ranking.request import Request
from citewell.ranking.top_k import below, rank_first
from citewell.types import PaperNumbers


@dataclass(frozen=True)
class CoCitation(Reranker):
    """Boosts papers that are often co-cited with the top results."""

    added: dict[str, float] = field(default_factory=dict)
    """By task, how much co-citation adds to the score before; a task that is not named keeps its ranking."""
    seeds: int = 8
    """How many of the top papers the others are compared with."""
    depth: int = 300
    """How many of the top papers are re-ranked; the others keep their order behind them."""

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= self.depth:
            raise CitewellError(f"co-citation needs 1 to {self.depth} seeds (its depth), not {self.seeds}.")

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        weight = self.added.get(request.query.task, 0.0)
        if not weight:
            return ranking._replace(trace=np.zeros(0, np.int64))
        papers, scores = ranking.papers[: self.depth], ranking.scores[: self.depth].astype(np.float64)
        seeds = papers[: self.seeds]
        shares = np.exp(scores[: self.seeds] - scores.max(initial=-np.inf))
        near = shared_neighbours(request.collection, "cited_by", "cites", seeds, shares / shares.sum(), papers)
        boosted = scores + weight * np.log1p(near)
        return rank_first(papers, boosted, ranking.papers[self.depth :], below(ranking))._replace(trace=seeds)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """For each paper the top paper with which it is co-cited most often."""
        seeds: PaperNumbers = ranking.trace
        records = request.collection.records(seeds)
        reasons: Explanations = {}
        for number, counts in path_counts(request.collection, PATHS["co-citation"], seeds, papers).items():
            for seed, count in counts.most_common(1):
                if seed in records:
                    text = co_citation_sentence(records[seed].title, count, "a top result")
                    reasons[number] = [Reason("co-citation", text, [records[seed].id])]
        return reasons
