"""Re-ranking by Medić's enhanced-context model: it scores each of the top papers for the citation context.

The collection says who wrote a paper and in which years it was cited; the query's year is that of the newest paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.models import enhanced_context
from citewell.models.enhanced_context import Candidate
from citewell.papers import Paper
from citewell.ranking.request import Request
from citewell.rerank.base import ModelReranker
from citewell.types import Float32Array, PaperNumbers


@dataclass(frozen=True)
class EnhancedContext(ModelReranker):
    """Scores the top papers with an enhanced-context model."""

    model: str = "textbibenh-ws"
    depth: int = 1000
    """How many of the top papers it scores; the others keep their order behind them."""

    label: ClassVar[str] = "Enhanced-context score"

    def compute_scores(self, request: Request, papers: PaperNumbers) -> Float32Array:
        model = enhanced_context.load(self.model)
        return model.scores(request.query, candidates(request, papers, model.shape.years))


def candidates(request: Request, papers: PaperNumbers, years: int) -> list[Candidate]:
    """Papers as the model reads them."""
    collection = request.collection
    stored = collection.records(papers)
    citing, counts = collection.neighbours("cited_by", papers)
    age = collection.newest_year() - collection.years(citing)
    owners = np.repeat(np.arange(len(papers)), counts)
    by_year = [np.bincount(owners[age == back], minlength=len(papers)) for back in range(1, years + 1)]
    cited = np.column_stack([*by_year, counts])
    records = [stored.get(number, Paper()) for number in papers.tolist()]
    return [
        Candidate(paper.title, paper.abstract, [*map(str, paper.authors)], row)
        for paper, row in zip(records, cited.tolist(), strict=True)
    ]
