"""SEMISER as a retriever: the sentences of the library nearest to the query; a paper counts by its best one.

The study searches an HNSW graph (``search = "hnsw"``), which finds nearly all of the nearest sentences without reading the
others; ``search = "exact"`` scans every sentence. Both score what they find alike. The graph knows no filters, so a search that
leaves too few papers is repeated for more sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.errors import CitewellError
from citewell.models import semiser, weights
from citewell.models.semiser import VIEWS, max_cosine
from citewell.models.word_networks import available
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Requirement, Retriever, SentenceModel, Weights
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.ranking.top_k import rank
from citewell.types import Float32Array, Float64Array, IntArray, PaperNumbers

_BATCH = 1 << 15
HNSW, EXACT = "hnsw", "exact"


@dataclass(frozen=True)
class Semiser(Retriever):
    """Papers by their sentences, with SEMISER."""

    model: str = "semiser"
    size: int = 1000
    search: str = HNSW
    """How sentences are searched: ``hnsw``, or ``exact``."""
    candidates: int = 4096
    """Sentence vectors that HNSW retrieves for each vector of the query, at first."""

    def __post_init__(self) -> None:
        if self.search not in (HNSW, EXACT):
            raise CitewellError(f"there is no search {self.search!r} of sentences. Choose one of {HNSW}, {EXACT}.")

    def requirements(self) -> Sequence[Requirement]:
        fingerprint = weights.fingerprint(self.model) if available(self.model) else ""
        return [SentenceModel(self.model, self.search == HNSW), Weights(self.model, fingerprint)]

    def retrieve(self, request: Request) -> Ranking:
        query = semiser.load(self.model).query(request.query.text())
        stored = request.collection.sentence_embeddings(self.model)
        if stored is None:
            raise CitewellError(
                f"The sentences of {request.collection.name} have no vectors of {self.model!r}."
                " Run 'citewell library encode --pipeline NAME' with the name of your pipeline."
            )
        rows = np.arange(len(stored.papers)) if self.search == EXACT else self._nearest(request, query, stored.papers)
        batches = (
            max_cosine(query, stored.vectors[rows[at : at + _BATCH]].astype(np.float32)) for at in range(0, len(rows), _BATCH)
        )
        cosines = np.concatenate([np.zeros(0, np.float32), *batches])
        papers, starts = np.unique(stored.papers[rows], return_index=True)
        best = np.maximum.reduceat(cosines, starts) if len(starts) else cosines
        allowed = request.passes(papers)
        return rank(papers[allowed], best[allowed].astype(np.float64), self.size)

    def _nearest(self, request: Request, query: Float32Array, papers: PaperNumbers) -> IntArray:
        """The rows of the nearest sentences: enough for `size` papers that pass the filters, where that many exist."""
        most, count = VIEWS * len(papers), self.candidates
        while True:
            rows = request.collection.nearest_sentences(self.model, query, max(1, min(count, most)))
            if rows is None:
                raise CitewellError(
                    f"The sentences of {request.collection.name} have no index of {self.model!r}."
                    " Run 'citewell library encode --pipeline NAME' with the name of your pipeline."
                )
            if count >= most or np.count_nonzero(request.passes(np.unique(papers[rows]))) >= self.size:
                return rows
            count *= 4

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        return rank_sentences(sentence_scores(request, self.model, papers))

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        cosines = dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True))
        return {
            number: [
                Reason("similarity", "One of its sentences is close to your text."),
                Reason(
                    "cosine",
                    f"Cosine of its best sentence by {self.model}: {cosines[number]:.2f} ({self.search} search).",
                    detail=True,
                ),
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
