"""What re-rankers share: the best of a ranking are read again, each once for a request, and the others follow as they were."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from citewell.models import hugging_face, weights
from citewell.models.onnx import MODEL
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.top_k import before_the_rest

Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


class Rereads(ABC):
    """A later stage that scores papers by reading them."""

    depth: int
    said: ClassVar[str]
    """How its reasons begin; the score follows."""

    @abstractmethod
    def read(self, request: Request, papers: Numbers) -> Scores:
        """The scores of papers that were not read yet."""

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        best, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        before = ranking.scores[: self.depth].astype(np.float64)
        scores = self.together(request, before, self.score(request, best).astype(np.float64))
        return before_the_rest(best, scores, rest)

    def together(self, request: Request, before: Floats, scores: Floats) -> Floats:
        """What the papers are ranked by, from what they were ranked by before and the scores of reading them."""
        return scores

    def score(self, request: Request, papers: Numbers) -> Scores:
        """The scores of some papers."""
        known = self._known(request)
        new = np.array([num for num in papers.tolist() if num not in known], np.int64)
        if len(new):
            known.update(zip(new.tolist(), self.read(request, new).tolist(), strict=True))
        return np.array([known[num] for num in papers.tolist()], np.float32)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        known = self._known(request)
        return {num: [Reason("reading", f"{self.said} {known[num]:+.2f}")] for num in papers if known.get(num, 0.0) > 0}

    def _known(self, request: Request) -> dict[int, float]:
        return request.remember(f"read by {self}", dict)


class ReadsByModel(Rereads):
    """One that needs weights to read."""

    model: str

    def weight_versions(self) -> dict[str, str]:
        """The model's."""
        folder = weights.folder(self.model)
        there = (folder / MODEL).is_file() or hugging_face.is_layout(folder)
        return {self.model: weights.version(self.model) if there else ""}
