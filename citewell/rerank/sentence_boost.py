"""Papers boosted by their best sentences, and sentences by their papers.

The top papers rise by how near their best sentence is to the query, and sentences of better papers come first. Sentences are
compared by the vectors of a static encoder, which the library stores. Among the few sentences of an abstract these vectors
tell best which one is meant; among the hundreds of a full text they do not, and there a cross-encoder reads the likeliest
(`citewell.rerank.sentence_cross_encoder`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from citewell.papers import Ranking
from citewell.pipeline.contract import Requirement, Reranker
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking
from citewell.ranking.top_k import below, rank_first
from citewell.rerank.sentence_cross_encoder import SentenceCrossEncoder, standardised
from citewell.retrieve.sentences import Sentences


@dataclass(frozen=True)
class SentenceBoost(Reranker):
    """Boosts papers with a sentence near to the query, and ranks sentences."""

    encoder: str = "citewell-static"
    depth: int = 20
    """How many of the top papers may rise; the others keep their order behind them."""
    boost: dict[str, float] = field(default_factory=dict)
    """By task, how much the cosine of its best sentence adds to a paper's score; nothing for a task that is not named."""
    share: float = 0.5
    """How much a paper's score adds to the scores of its sentences, which have a standard deviation of 1."""
    reread: dict[str, int] = field(default_factory=dict)
    """By task, how many sentences of full texts the cross-encoder reads."""

    @property
    def _sentences(self) -> Sentences:
        return Sentences(self.encoder, optional=True)

    @property
    def _cross_encoder(self) -> SentenceCrossEncoder:
        return SentenceCrossEncoder()

    def requirements(self) -> Sequence[Requirement]:
        return [*self._sentences.requirements(), *(self._cross_encoder.requirements() if self.reread else ())]

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        top, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        scores = ranking.scores[: self.depth].astype(np.float64)
        if weight := self.boost.get(request.query.task, 0.0):
            near = self._sentences.nearest_sentences(request, top.tolist())
            nearest = dict(zip(near.papers[::-1].tolist(), near.scores[::-1].tolist(), strict=True))
            scores += weight * np.array([nearest.get(number, 0.0) for number in top.tolist()])
            return rank_first(top, scores, rest, below(ranking))
        return ranking._replace(trace=None)

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of papers by how near they are to the query and by the scores of their papers."""
        nearest = self._sentences.nearest_sentences(request, papers)
        if not len(nearest.scores):
            return nearest
        paper_scores = dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True))
        lowest = min((paper_scores[number] for number in papers if number in paper_scores), default=0.0)
        scores = standardised(nearest.scores)
        if most := self.reread.get(request.query.task, 0):
            scores = self._cross_encoder.scores(request, nearest, scores, most)
        scores += self.share * np.array([paper_scores.get(number, lowest) for number in nearest.papers.tolist()])
        order = np.argsort(-scores, kind="stable")
        return SentenceRanking(nearest.papers[order], nearest.places[order], scores[order])
