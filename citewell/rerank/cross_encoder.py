"""Re-ranking by a cross-encoder: the best candidates of a ranking, each read together with the query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from citewell.library.vectors.encode import paper_texts
from citewell.models import cross_encoder
from citewell.models.inputs import PaperText
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.rerank.base import Floats, Numbers, ReadsByModel, Scores


@dataclass(frozen=True)
class CrossEncoder(ReadsByModel):
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "citewell-cross"
    text: str = "own+cited"
    depth: int = 50
    """So many of the best are read again; the others keep their order behind them."""
    added: dict[str, float] = field(default_factory=dict)
    """By task, how much a score adds to what the paper was ranked by before, where a task that is not named is left as it was.

    Empty: scores count alone, whatever the task.
    """

    said: ClassVar[str] = "read together with the query it scores"

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        left = self.added and request.query.task not in self.added
        return ranking if left else super().refine(request, ranking)

    def together(self, request: Request, before: Floats, scores: Floats) -> Floats:
        return before + self.added[request.query.task] * scores if self.added else scores

    def read(self, request: Request, papers: Numbers) -> Scores:
        texts = dict(paper_texts(request.library, self.text, papers.tolist()))
        chosen = [texts.get(num, PaperText()) for num in papers.tolist()]
        return cross_encoder.load(self.model).scores(request.query, chosen)
