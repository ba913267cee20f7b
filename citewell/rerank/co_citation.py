"""Re-ranking by company: a paper is the likelier wanted the more often others cite it together with those that rank best.

What a ranking puts first is right more often than what any of the parts has first that it was made of, so papers are held
against it once more. The best count by their scores, as in a softmax: one that stands out counts for nearly all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from citewell.errors import CitewellError
from citewell.expand.linked import KINDS, cited_together
from citewell.expand.proximity import beside, ways
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.top_k import before_the_rest


@dataclass(frozen=True)
class Company:
    """The stage; its parameters are those of ``pipelines.toml``."""

    added: dict[str, float] = field(default_factory=dict)
    """By task, how much its company adds to what a paper was ranked by before; a task that is not named is left as it was."""
    seeds: int = 8
    """So many of the best are what the others are held against."""
    depth: int = 300
    """So many of the best are ranked anew; the others keep their order behind them."""

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= self.depth:
            raise CitewellError(f"'co-citation' needs at least 1 seed and no more seeds than papers to rank, not {self.seeds}")

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        share = self.added.get(request.query.task, 0.0)
        if not share:
            return ranking
        papers, scores = ranking.papers[: self.depth], ranking.scores[: self.depth].astype(np.float64)
        seeds = papers[: self.seeds]
        self._seeds(request)[:] = seeds.tolist()
        weights = np.exp(scores[: self.seeds] - scores.max(initial=0.0))
        near = beside(request.library.index.graph, "cited_by", "cites", seeds, weights / weights.sum(), papers)
        return before_the_rest(papers, scores + share * np.log1p(near), ranking.papers[self.depth :])

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """For each paper that of the best with which it is cited together most often."""
        seeds = np.array(self._seeds(request), np.int64)
        records = request.library.store.papers(seeds.tolist())
        found = {}
        for num, times in ways(request.library.index.graph, KINDS["co-citation"], seeds, papers).items():
            for seed, count in times.most_common(1):
                if seed in records:
                    text = cited_together(records[seed].title, count, "which ranks among the first")
                    found[num] = [Reason("company", text, [records[seed].id])]
        return found

    def _seeds(self, request: Request) -> list[int]:
        """The papers that the others were held against."""
        return request.own(self, list)
