"""Re-ranking by Medić's enhanced-context model: the best candidates of a ranking, each read with the context in mind.

The library tells who wrote a paper and in which years it was cited; the query is asked in the year of its newest paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.fuse.signals import newest_year
from citewell.library.postings import BLOCK, BLOCK_BITS
from citewell.models import enhanced_context
from citewell.models.enhanced_context import Candidate
from citewell.papers import Paper, Ranking, Reason
from citewell.retrieve.request import Request

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EnhancedContext:
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "textbibenh-ws"
    depth: int = 1000
    """So many of the best are read again; the others keep their order behind them."""

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        best, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        scores = self.score(request, best).astype(np.float64)
        order = np.lexsort((best, -scores))
        tail = float(scores.min(initial=0.0)) - 1.0 - np.arange(len(rest)) / max(1, len(rest))
        found = np.concatenate([scores[order], tail])
        return Ranking(np.concatenate([best[order], rest]), (found - found.min(initial=0.0) + 1e-3).astype(np.float32))

    def score(self, request: Request, papers: Numbers) -> npt.NDArray[np.float32]:
        """The scores of some papers; each is read once for a request."""
        known: dict[int, float] = request.remember(f"scores of {self.model}", dict)
        new = np.array([num for num in papers.tolist() if num not in known], np.int64)
        if len(new):
            model = enhanced_context.load(self.model)
            scores = model.scores(request.query, candidates(request, new, model.shape.years))
            known.update(zip(new.tolist(), scores.tolist(), strict=True))
        return np.array([known[num] for num in papers.tolist()], np.float32)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        known: dict[int, float] = request.notes.get(f"scores of {self.model}", {})
        return {
            num: [Reason("reading", f"read with the citation context in mind it scores {known[num]:.2f}")]
            for num in papers
            if num in known
        }


def candidates(request: Request, papers: Numbers, years: int) -> list[Candidate]:
    """Papers as the model reads them."""
    held = request.library.store.papers(papers.tolist())
    citing, counts = request.library.index.graph.neighbours("cited_by", papers)
    age = newest_year(request) - _years(request, citing)
    owners = np.repeat(np.arange(len(papers)), counts)
    lately = [np.bincount(owners[age == back], minlength=len(papers)) for back in range(1, years + 1)]
    cited = np.column_stack([*lately, counts])
    records = [held.get(num, Paper()) for num in papers.tolist()]
    return [
        Candidate(paper.title, paper.abstract, paper.authors, row) for paper, row in zip(records, cited.tolist(), strict=True)
    ]


def _years(request: Request, papers: Numbers) -> Numbers:
    found = np.zeros(len(papers), np.int64)
    for block in np.unique(papers >> BLOCK_BITS).tolist():
        here = papers >> BLOCK_BITS == block
        found[here] = request.library.index.dates(block)[papers[here] & (BLOCK - 1)] // 10_000
    return found
