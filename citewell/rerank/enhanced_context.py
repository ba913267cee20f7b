"""Re-ranking by Medić's enhanced-context model: the best candidates of a ranking, each read with the context in mind.

The library tells who wrote a paper and in which years it was cited; the query is asked in the year of its newest paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.models import enhanced_context
from citewell.models.enhanced_context import Candidate
from citewell.papers import Paper
from citewell.ranking.request import Request
from citewell.ranking.years import newest_year, years_of
from citewell.rerank.base import Numbers, ReadsByModel, Scores


@dataclass(frozen=True)
class EnhancedContext(ReadsByModel):
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "textbibenh-ws"
    depth: int = 1000
    """So many of the best are read again; the others keep their order behind them."""

    said: ClassVar[str] = "read with the citation context in mind it scores"

    def read(self, request: Request, papers: Numbers) -> Scores:
        model = enhanced_context.load(self.model)
        return model.scores(request.query, candidates(request, papers, model.shape.years))


def candidates(request: Request, papers: Numbers, years: int) -> list[Candidate]:
    """Papers as the model reads them."""
    held = request.library.store.papers(papers.tolist())
    citing, counts = request.library.index.graph.neighbours("cited_by", papers)
    age = newest_year(request) - years_of(request, citing)
    owners = np.repeat(np.arange(len(papers)), counts)
    lately = [np.bincount(owners[age == back], minlength=len(papers)) for back in range(1, years + 1)]
    cited = np.column_stack([*lately, counts])
    records = [held.get(num, Paper()) for num in papers.tolist()]
    return [
        Candidate(paper.title, paper.abstract, paper.authors, row) for paper, row in zip(records, cited.tolist(), strict=True)
    ]
