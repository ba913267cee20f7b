"""Papers by their sentences: those with a sentence whose vector is near to the query's, and these sentences.

A paper's vector says what the whole paper is about. Whether one of two hundred sentences answers a question, only the vector of
that sentence can say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.models import encoder
from citewell.models.encoder import PaperEncoder
from citewell.models.inputs import PaperText
from citewell.papers import Ranking
from citewell.pipeline.contract import Explanations
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.retrieve.dense import Dense
from citewell.types import Float32Array


@dataclass(frozen=True)
class Sentences(Dense):
    """Dense retrieval by the vectors of sentences; a paper is as near as its nearest sentence."""

    encoder: str = "citewell-static"
    text: str = "sentences"

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        return self.nearest_sentences(request, papers)

    def nearest_sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of papers, the nearest first; those without a stored vector are encoded now."""
        texts = request.collection.sentences(papers)
        cosines = self._stored(request, papers)
        lacking = [number for number in texts if len(cosines[number]) != len(texts[number])]
        if lacking:
            computed = self.cosines(request, [sentence.text for number in lacking for sentence in texts[number]])
            ends = np.cumsum([len(texts[number]) for number in lacking])
            cosines |= dict(zip(lacking, np.split(computed, ends[:-1]), strict=True))
        return rank_sentences({number: cosines[number] for number in texts})

    def _stored(self, request: Request, papers: Sequence[int]) -> dict[int, Float32Array]:
        """The cosines of each paper's sentences, as far as the library has their vectors."""
        if not papers or not self._has_vectors(request):
            return {number: np.zeros(0, np.float32) for number in papers}
        vector = self.query_vector(request)
        cosines, counts = request.collection.sentence_cosines(self.encoder, vector, np.array(papers, np.int64))
        return dict(zip(papers, np.split(cosines, np.cumsum(counts)[:-1]), strict=True))

    def cosines(self, request: Request, texts: Sequence[str]) -> Float32Array:
        """How near some texts are to the query, encoded now."""
        model = encoder.load(self.encoder)
        if isinstance(model, PaperEncoder):
            return model.papers([PaperText(abstract=text) for text in texts]) @ self.query_vector(request)
        return model.encode(texts) @ self.query_vector(request)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        return {}  # the pipeline quotes the sentence itself
