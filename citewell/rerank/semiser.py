"""SEMISER after another stage: it ranks the sentences of the papers found, and may rank the best papers by theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.models import weights
from citewell.models.word_networks import available
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, ranked
from citewell.ranking.top_k import before_the_rest
from citewell.retrieve.semiser import scored


@dataclass(frozen=True)
class SemiserSentences:
    """The stage; its parameters are those of ``pipelines.toml``."""

    model: str = "semiser"
    depth: int = 10
    """So many of the best papers are ranked anew, each by its best sentence; with 0 all stay as they are."""

    def weight_versions(self) -> dict[str, str]:
        return {self.model: weights.version(self.model) if available(self.model) else ""}

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        if not self.depth:
            return ranking
        best, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        known = scored(request, self.model, best.tolist())
        return before_the_rest(best, np.array([known[num].max(initial=-1.0) for num in best.tolist()]), rest)

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        return ranked(scored(request, self.model, papers))

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        return {}
