"""Sentences of full texts, the likeliest read again: by an encoder, and by a cross-encoder together with the query.

A full text has hundreds of sentences. Words and the static encoder's vectors choose some, and only these are read, so that the
time does not grow with the text. What is said early, where papers tell what they did, is likelier to be what others refer to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from citewell.models import cross_encoder, weights
from citewell.models.inputs import PaperText
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, rank_sentences
from citewell.retrieve.sentences import Sentences

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CloseReading:
    """How sentences are read; how much each way counts was chosen on the dev questions of scisumm."""

    encoder: str = "citewell"
    model: str = "citewell-cross-large"
    long: int = 40
    """Papers with more sentences than this are full texts."""
    meaning: float = 1.0
    """How much the encoder counts beside the cross-encoder."""
    words: float = 0.6
    """How much BM25 does."""
    early: float = 0.6
    """How much it does that a sentence stands at the beginning."""

    def weight_versions(self) -> dict[str, str]:
        return {name: weights.version(name) for name in (self.encoder, self.model)}

    def scores(self, request: Request, ranking: SentenceRanking, near: Scores, most: int) -> Scores:
        """The scores of ranked sentences, which are `near` to the query: those of full texts anew, `most` of them read."""
        papers, lengths = np.unique(ranking.papers, return_counts=True)
        long = lengths[np.searchsorted(papers, ranking.papers)] > self.long
        if not long.any():
            return near
        chosen = SentenceRanking(ranking.papers[long], ranking.places[long], ranking.scores[long])
        length = lengths[np.searchsorted(papers, chosen.papers)]
        late = spread(chosen.places / length)
        words = spread(self._words(request, chosen))
        likely = np.argsort(-(near[long] + words - self.early * late), kind="stable")[:most]
        meaning, read = self._read(request, chosen, likely)
        scores = near.copy()
        scores[long] = spread(read + self.meaning * meaning + self.words * words - self.early * late)
        return scores

    def _words(self, request: Request, chosen: SentenceRanking) -> Scores:
        """BM25's scores of the sentences; 0 where they share no word with the query."""
        found = rank_sentences(request, np.unique(chosen.papers).tolist())
        known = dict(zip(zip(found.papers.tolist(), found.places.tolist(), strict=True), found.scores.tolist(), strict=True))
        places = zip(chosen.papers.tolist(), chosen.places.tolist(), strict=True)
        return np.array([known.get(place, 0.0) for place in places])

    def _read(self, request: Request, chosen: SentenceRanking, likely: npt.NDArray[np.int64]) -> tuple[Scores, Scores]:
        """The encoder's and the cross-encoder's scores of the likely sentences; all others are as the worst of these."""
        sentences = request.library.store.quotable(np.unique(chosen.papers[likely]).tolist())
        places = zip(chosen.papers[likely].tolist(), chosen.places[likely].tolist(), strict=True)
        texts = [sentences[num][place].text for num, place in places]
        near = Sentences(self.encoder).near(request, texts)
        together = cross_encoder.load(self.model).scores(request.query, [PaperText(abstract=text) for text in texts])
        return _others_last(near, likely, len(chosen.papers)), _others_last(together, likely, len(chosen.papers))


def spread(scores: npt.NDArray[np.floating]) -> Scores:
    """Scores with a mean of 0 and a spread of 1."""
    found: Scores = (scores - scores.mean()) / (scores.std() or 1.0)
    return found


def _others_last(scores: npt.NDArray[np.floating], places: npt.NDArray[np.int64], size: int) -> Scores:
    found = np.full(size, float(scores.min()))
    found[places] = scores
    return spread(found)
