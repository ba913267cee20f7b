"""Papers by their sentences: those that hold one whose vector is near to the query's, and these sentences.

A paper's vector tells what all of it is about. That one of two hundred sentences answers a question only the sentence's own can
tell; so full texts are found by them, and abstracts quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from citewell.library.vectors.encode import SENTENCES, ReadsPapers
from citewell.models import encoder
from citewell.models.inputs import PaperText
from citewell.papers import Reason
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking
from citewell.retrieve.dense import Dense, Floats


@dataclass(frozen=True)
class Sentences(Dense):
    """The stage; its parameters are those of ``pipelines.toml``."""

    encoder: str = "citewell-static"
    text: str = SENTENCES

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of some papers, the nearest first; those that have no vector yet are encoded now."""
        texts = request.library.store.quotable(papers)
        cosines = self._kept(request, papers)
        lacking = [num for num in texts if len(cosines[num]) != len(texts[num])]
        if lacking:
            made = self.near(request, [sentence.text for num in lacking for sentence in texts[num]])
            ends = np.cumsum([len(texts[num]) for num in lacking])
            cosines |= dict(zip(lacking, np.split(made, ends[:-1]), strict=True))
        counts = [len(cosines[num]) for num in texts]
        scores = np.concatenate([np.zeros(0), *(cosines[num] for num in texts)])
        places = np.concatenate([np.zeros(0, np.int64), *(np.arange(count) for count in counts)])
        order = np.argsort(-scores, kind="stable")
        return SentenceRanking(np.repeat(np.array(list(texts), np.int64), counts)[order], places[order], scores[order])

    def _kept(self, request: Request, papers: Sequence[int]) -> dict[int, Floats]:
        """How near the sentences of each paper are, as far as the library has their vectors."""
        near = self._near(request)
        if near is None or not papers:
            return {num: np.zeros(0, np.float32) for num in papers}
        cosines, counts = near.all_cosines(self._vector(request), np.array(papers, np.int64))
        return dict(zip(papers, np.split(cosines, np.cumsum(counts)[:-1]), strict=True))

    def near(self, request: Request, texts: Sequence[str]) -> Floats:
        """How near some texts are to the query, encoded now."""
        reads = encoder.load(self.encoder)
        if isinstance(reads, ReadsPapers):
            return reads.papers([PaperText(abstract=text) for text in texts]) @ self._vector(request)
        return reads.encode(texts) @ self._vector(request)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        return {}  # the pipeline quotes the sentence itself
