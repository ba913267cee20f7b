"""Re-ranking by a cross-encoder: it reads the query and each of the top papers together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from citewell.models import cross_encoder
from citewell.models.inputs import PaperText
from citewell.papers import Ranking
from citewell.ranking.request import Request
from citewell.rerank.base import ModelReranker
from citewell.types import Float32Array, Float64Array, PaperNumbers


@dataclass(frozen=True)
class Rerank(ModelReranker):
    """Scores the top papers with a cross-encoder."""

    model: str = "citewell-cross"
    text: str = "own+cited"
    """Which text of the papers it reads."""
    depth: int = 50
    """How many of the top papers it scores; the others keep their order behind them."""
    added: dict[str, float] = field(default_factory=dict)
    """By task, how much its score adds to the score before; a task that is not named keeps its ranking.

    Empty: its score alone counts, whatever the task.
    """

    label: ClassVar[str] = "Cross-encoder score"

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        skip = self.added and request.query.task not in self.added
        return ranking._replace(trace=None) if skip else super().rerank(request, ranking)

    def combine(self, request: Request, before: Float64Array, scores: Float64Array) -> Float64Array:
        return before + self.added[request.query.task] * scores if self.added else scores

    def compute_scores(self, request: Request, papers: PaperNumbers) -> Float32Array:
        texts = request.collection.texts(self.text, papers)
        return cross_encoder.load(self.model).scores(
            request.query, [texts.get(number, PaperText()) for number in papers.tolist()]
        )
