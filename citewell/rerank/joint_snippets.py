"""JPDRMM as a stage: one model scores the top papers and their sentences together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from citewell.collection.interface import Collection
from citewell.models import joint_snippets, weights
from citewell.models.joint_snippets import standardise
from citewell.models.word_networks import available
from citewell.papers import Ranking
from citewell.pipeline.contract import Requirement, Weights
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.rerank.base import TopReranker
from citewell.retrieve.bm25 import BM25
from citewell.types import Float32Array, Float64Array, PaperNumbers


@dataclass(frozen=True)
class JointSnippets(TopReranker):
    """Scores the top papers and their sentences with JPDRMM."""

    model: str = "jpdrmm"
    depth: int = 100
    """How many of the top papers it scores; the others keep their order behind them."""

    label: ClassVar[str] = "JPDRMM score"

    def requirements(self) -> Sequence[Requirement]:
        return [Weights(self.model, weights.fingerprint(self.model) if available(self.model) else "")]

    def compute_scores(self, request: Request, papers: PaperNumbers) -> Float32Array:
        texts = list(title_and_sentences(request.collection, papers.tolist()).values())
        scores, sentences = joint_snippets.load(self.model).scores(request.query.text(), texts, self._bm25(request, papers))
        # The title, which comes first, is read for the paper's score only.
        by_paper = (values[1:].astype(np.float64) for values in sentences)
        self._sentence_scores(request).update(zip(papers.tolist(), by_paper, strict=True))
        return scores

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        self.score(request, np.array(papers, np.int64))
        scores = self._sentence_scores(request)
        return rank_sentences({number: scores[number] for number in papers})

    def _bm25(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """BM25's scores of papers, relative to those of its top papers."""
        top = request.memo(self.key, "BM25 scores", lambda: BM25(size=self.depth).retrieve(request).scores)
        return standardise(np.nan_to_num(BM25().score(request, papers)), top)

    def _sentence_scores(self, request: Request) -> dict[int, Float64Array]:
        """The scores of the sentences of each paper that the model has read."""
        return request.memo(self.key, "sentence scores", dict[int, Float64Array])


def title_and_sentences(collection: Collection, papers: Sequence[int]) -> dict[int, list[str]]:
    """What the model reads of papers: the title, then the sentences; an empty title for a paper that was removed meanwhile."""
    records, sentences = collection.records(papers), collection.sentences(papers)
    return {
        number: [records[number].title if number in records else "", *(sentence.text for sentence in sentences[number])]
        for number in papers
    }
