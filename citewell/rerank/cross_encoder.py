"""Re-ranking by a cross-encoder: the best candidates of a ranking, each read together with the query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.library.encoding import paper_texts
from citewell.models import cross_encoder
from citewell.models.inputs import PaperText
from citewell.papers import Ranking, Reason
from citewell.retrieve.request import Request

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CrossEncoder:
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "citewell-cross"
    text: str = "own+cited"
    depth: int = 50
    """So many of the best are read again; the others keep their order behind them."""

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        best = ranking.papers[: self.depth]
        scores = self.score(request, best).astype(np.float64)
        order = np.lexsort((best, -scores))
        low = float(scores.min(initial=0.0))
        rest = ranking.papers[self.depth :]
        tail = low - 1.0 - np.arange(len(rest)) / max(1, len(rest))
        found = np.concatenate([scores[order], tail])
        return Ranking(np.concatenate([best[order], rest]), (found - found.min(initial=0.0) + 1e-3).astype(np.float32))

    def score(self, request: Request, papers: Numbers) -> npt.NDArray[np.float32]:
        """The scores of some papers; each is read once for a request."""
        known: dict[int, float] = request.remember(f"scores of {self.model} {self.text}", dict)
        new = [num for num in papers.tolist() if num not in known]
        if new:
            texts = dict(paper_texts(request.library, self.text, new))
            scores = cross_encoder.load(self.model).scores(request.query, [texts.get(num, PaperText()) for num in new])
            known.update(zip(new, scores.tolist(), strict=True))
        return np.array([known[num] for num in papers.tolist()], np.float32)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        known: dict[int, float] = request.notes.get(f"scores of {self.model} {self.text}", {})
        return {
            num: [Reason("reading", f"read together with the query it scores {known[num]:+.1f}")]
            for num in papers
            if num in known
        }
