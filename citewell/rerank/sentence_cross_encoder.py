"""Sentences of full texts, re-ranked: an encoder and a cross-encoder read the likeliest.

A full text has hundreds of sentences. BM25 and the static encoder's vectors choose some, and only these are read, so the time
does not grow with the text. Sentences at the start, where papers state what they did, are more often the ones that others
refer to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.models import cross_encoder, weights
from citewell.models.inputs import PaperText
from citewell.pipeline.contract import Requirement, Weights
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, bm25_sentences
from citewell.retrieve.sentences import Sentences
from citewell.types import Float64Array, IntArray


@dataclass(frozen=True)
class SentenceCrossEncoder:
    """How sentences of full texts are scored; the weights were chosen on the dev queries of scisumm."""

    encoder: str = "citewell"
    model: str = "citewell-cross-large"
    full_text: int = 40
    """Papers with more sentences than this are full texts."""
    encoder_weight: float = 1.0
    """How much the encoder counts, relative to the cross-encoder."""
    bm25_weight: float = 0.6
    early_weight: float = 0.6
    """How much it counts that a sentence is at the start."""

    def requirements(self) -> Sequence[Requirement]:
        return [Weights(name, weights.fingerprint(name)) for name in (self.encoder, self.model)]

    def scores(self, request: Request, ranking: SentenceRanking, near: Float64Array, most: int) -> Float64Array:
        """New scores for the sentences of full texts, `most` of which are read; others keep `near`, their score by vectors."""
        papers, lengths = np.unique(ranking.papers, return_counts=True)
        long = lengths[np.searchsorted(papers, ranking.papers)] > self.full_text
        if not long.any():
            return near
        chosen = SentenceRanking(ranking.papers[long], ranking.places[long], ranking.scores[long])
        length = lengths[np.searchsorted(papers, chosen.papers)]
        late = standardised(chosen.places / length)
        bm25 = standardised(self._bm25(request, chosen))
        likely = np.argsort(-(near[long] + bm25 - self.early_weight * late), kind="stable")[:most]
        similar, together = self._read(request, chosen, likely)
        scores = near.copy()
        scores[long] = standardised(
            together + self.encoder_weight * similar + self.bm25_weight * bm25 - self.early_weight * late
        )
        return scores

    def _bm25(self, request: Request, chosen: SentenceRanking) -> Float64Array:
        """BM25's scores of the sentences; 0 where they share no word with the query."""
        bm25 = bm25_sentences(request, np.unique(chosen.papers).tolist())
        places = zip(bm25.papers.tolist(), bm25.places.tolist(), strict=True)
        scores = dict(zip(places, bm25.scores.tolist(), strict=True))
        return np.array([scores.get(place, 0.0) for place in zip(chosen.papers.tolist(), chosen.places.tolist(), strict=True)])

    def _read(self, request: Request, chosen: SentenceRanking, likely: IntArray) -> tuple[Float64Array, Float64Array]:
        """The encoder's and the cross-encoder's scores of the likely sentences; all others get the lowest of these."""
        sentences = request.collection.sentences(np.unique(chosen.papers[likely]).tolist())
        places = zip(chosen.papers[likely].tolist(), chosen.places[likely].tolist(), strict=True)
        texts = [sentences[number][place].text for number, place in places]
        similar = Sentences(self.encoder).cosines(request, texts)
        together = cross_encoder.load(self.model).scores(request.query, [PaperText(abstract=text) for text in texts])
        size = len(chosen.papers)
        return _filled(similar, likely, size), _filled(together, likely, size)


def standardised(scores: npt.NDArray[np.floating]) -> Float64Array:
    """Scores with a mean of 0 and a standard deviation of 1."""
    result: Float64Array = (scores - scores.mean()) / (scores.std() or 1.0)
    return result


def _filled(scores: npt.NDArray[np.floating], places: IntArray, size: int) -> Float64Array:
    """Scores at their places, the lowest everywhere else, standardised."""
    filled = np.full(size, float(scores.min()))
    filled[places] = scores
    return standardised(filled)
