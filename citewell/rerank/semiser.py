"""SEMISER after another stage: it ranks the sentences of the papers, and may re-rank the top papers by theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.models import weights
from citewell.models.word_networks import available
from citewell.papers import Ranking
from citewell.pipeline.contract import Requirement, Reranker, Weights
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.ranking.top_k import rank_first
from citewell.retrieve.semiser import sentence_scores


@dataclass(frozen=True)
class SemiserSentences(Reranker):
    """Ranks sentences, and the top papers by their best sentence, with SEMISER."""

    model: str = "semiser"
    depth: int = 10
    """How many of the top papers are re-ranked; with 0 all keep their order."""

    def requirements(self) -> Sequence[Requirement]:
        return [Weights(self.model, weights.fingerprint(self.model) if available(self.model) else "")]

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        if not self.depth:
            return ranking._replace(trace=None)
        top, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        scores = sentence_scores(request, self.model, top.tolist())
        return rank_first(top, np.array([scores[number].max(initial=-1.0) for number in top.tolist()]), rest)

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        return rank_sentences(sentence_scores(request, self.model, papers))
