"""SEMISER as a retriever: the sentences of the library nearest to the query; a paper counts by its best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.errors import CitewellError
from citewell.models import semiser, weights
from citewell.models.semiser import max_cosine
from citewell.models.word_networks import available
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Requirement, Retriever, SentenceModel, Weights
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.ranking.top_k import rank
from citewell.types import Float64Array

_BATCH = 1 << 15


@dataclass(frozen=True)
class Semiser(Retriever):
    """Papers by their sentences, with SEMISER."""

    model: str = "semiser"
    size: int = 1000

    def requirements(self) -> Sequence[Requirement]:
        fingerprint = weights.fingerprint(self.model) if available(self.model) else ""
        return [SentenceModel(self.model), Weights(self.model, fingerprint)]

    def retrieve(self, request: Request) -> Ranking:
        query = semiser.load(self.model).query(request.query.text())
        stored = request.collection.sentence_embeddings(self.model)
        if stored is None:
            raise CitewellError(
                f"The sentences of {request.collection.name} have no vectors of {self.model!r}."
                " Run 'citewell library encode --pipeline NAME' with the name of your pipeline."
            )
        batches = (
            max_cosine(query, stored.vectors[at : at + _BATCH].astype(np.float32))
            for at in range(0, len(stored.vectors), _BATCH)
        )
        cosines = np.concatenate([np.zeros(0, np.float32), *batches])
        papers, starts = np.unique(stored.papers, return_index=True)
        best = np.maximum.reduceat(cosines, starts) if len(starts) else cosines
        allowed = request.passes(papers)
        return rank(papers[allowed], best[allowed].astype(np.float64), self.size)

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        return rank_sentences(sentence_scores(request, self.model, papers))

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        cosines = dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True))
        return {
            number: [
                Reason("similarity", "One of its sentences is close to your text."),
                Reason("cosine", f"Cosine of its best sentence by {self.model}: {cosines[number]:.2f}.", detail=True),
            ]
            for number in papers
            if number in cosines
        }


def sentence_scores(request: Request, model: str, papers: Sequence[int]) -> dict[int, Float64Array]:
    """For each paper how near its sentences are to the query, encoded now."""
    scores: dict[int, Float64Array] = request.memo(model, "sentence scores", dict)
    new = [number for number in papers if number not in scores]
    if new:
        sentences = request.collection.sentences(new)
        encoder = semiser.load(model)
        vectors = encoder.sentences([sentence.text for here in sentences.values() for sentence in here])
        cosines = max_cosine(encoder.query(request.query.text()), vectors).astype(np.float64)
        parts = np.split(cosines, np.cumsum([len(here) for here in sentences.values()])[:-1])
        scores.update(zip(sentences, parts, strict=True))
    return {number: scores[number] for number in papers}
