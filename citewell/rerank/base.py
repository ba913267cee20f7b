"""What re-rankers share that score the top of a ranking with a model; the rest follows in its order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from citewell.models import hugging_face, weights
from citewell.models.onnx import MODEL
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Requirement, Reranker, Weights
from citewell.ranking.request import Request
from citewell.ranking.top_k import below, rank_first
from citewell.types import Float32Array, Float64Array, PaperNumbers


class TopReranker(Reranker):
    """A re-ranker that scores the top `depth` papers, each once for a request.

    The trace of its ranking is the scores by paper number.
    """

    depth: int
    label: ClassVar[str]
    """What its score is called in reasons."""

    @property
    def window(self) -> int | None:
        return self.depth

    @abstractmethod
    def compute_scores(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """The scores of papers; NaN where the stage has none."""

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        top, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        before = ranking.scores[: self.depth].astype(np.float64)
        scores = self.score(request, top)
        combined = self.combine(request, before, np.nan_to_num(scores.astype(np.float64)))
        trace = dict(zip(top.tolist(), scores.tolist(), strict=True))
        return rank_first(top, combined, rest, below(ranking))._replace(trace=trace)

    def combine(self, request: Request, before: Float64Array, scores: Float64Array) -> Float64Array:
        """What the papers are ranked by, from their scores before and the scores of this stage."""
        return scores

    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        computed: dict[int, float] = request.memo(self.key, "scores", dict)
        new = np.array([number for number in papers.tolist() if number not in computed], np.int64)
        if len(new):
            computed.update(zip(new.tolist(), self.compute_scores(request, new).tolist(), strict=True))
        return np.array([computed[number] for number in papers.tolist()], np.float32)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        scores: dict[int, float] = ranking.trace or {}
        return {
            number: [Reason("model", f"{self.label}: {scores[number]:+.2f}.", detail=True)]
            for number in papers
            if scores.get(number, 0.0) > 0
        }


class ModelReranker(TopReranker):
    """One that needs the weights of a transformer."""

    model: str

    def requirements(self) -> Sequence[Requirement]:
        folder = weights.folder(self.model)
        installed = (folder / MODEL).is_file() or hugging_face.is_layout(folder)
        return [Weights(self.model, weights.fingerprint(self.model) if installed else "")]
