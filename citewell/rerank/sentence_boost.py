"""Papers and their sentences, each lifted by the other.

The best papers of a ranking rise by how near their best sentence is to the query, and sentences of better papers come before
those of the others. Sentences are compared by the vectors of a static encoder, which the library keeps. Among the few of an
abstract these tell best which one is meant; among the hundreds of a full text they do not, and there the likeliest are read
again (`citewell.rerank.sentence_cross_encoder`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from citewell.library.library import Library
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking
from citewell.ranking.top_k import before_the_rest
from citewell.rerank.sentence_cross_encoder import CloseReading, spread
from citewell.retrieve.sentences import Sentences


@dataclass(frozen=True)
class Quoted:
    """The stage; its parameters are those of ``pipelines.toml``."""

    encoder: str = "citewell-static"
    depth: int = 20
    """So many of the best papers may rise; the others keep their order behind them."""
    lifted: dict[str, float] = field(default_factory=dict)
    """By task, how much the nearness of its best sentence adds to a paper's score; where a task is not named, nothing."""
    share: float = 0.5
    """How much a paper's score adds to its sentences', which have a spread of 1."""
    read: dict[str, int] = field(default_factory=dict)
    """By task, how many sentences of full texts are read again."""

    @property
    def _sentences(self) -> Sentences:
        return Sentences(self.encoder, may_lack=True)

    @property
    def _reading(self) -> CloseReading:
        return CloseReading()

    def prepare(self, library: Library, donors: Sequence[Path] = ()) -> None:
        """Encode the sentences that have no vector yet."""
        self._sentences.prepare(library, donors)

    def weight_versions(self) -> dict[str, str]:
        return self._sentences.weight_versions() | (self._reading.weight_versions() if self.read else {})

    def refine(self, request: Request, ranking: Ranking) -> Ranking:
        best, rest = ranking.papers[: self.depth], ranking.papers[self.depth :]
        scores = ranking.scores[: self.depth].astype(np.float64)
        if weight := self.lifted.get(request.query.task, 0.0):
            near = self._sentences.sentences(request, best.tolist())
            nearest = dict(zip(near.papers[::-1].tolist(), near.scores[::-1].tolist(), strict=True))
            scores += weight * np.array([nearest.get(num, 0.0) for num in best.tolist()])
            ranking = before_the_rest(best, scores, rest)
        request.own(self, dict).update(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True))
        return ranking

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of some papers, best first, by how near they are and how good their papers."""
        found = self._sentences.sentences(request, papers)
        if not len(found.scores):
            return found
        known: dict[int, float] = request.own(self, dict)
        lowest = min((known[num] for num in papers if num in known), default=0.0)
        papers_scores = np.array([known.get(num, lowest) for num in found.papers.tolist()])
        scores = spread(found.scores)
        if most := self.read.get(request.query.task, 0):
            scores = self._reading.scores(request, found, scores, most)
        scores += self.share * papers_scores
        order = np.argsort(-scores, kind="stable")
        return SentenceRanking(found.papers[order], found.places[order], scores[order])

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        return {}  # the pipeline quotes the sentence itself
