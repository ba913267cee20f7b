"""Sentences as results: where the relevant ones are in a library, and how a ranking of sentences is named.

A set refers to sentences by their position in its own record of a paper. The library may have merged that record with another
one, so the relevant sentence is looked up there by its text.
"""

from __future__ import annotations

import numpy as np

from citewell.evaluate.names import Names
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.trec import strictly_falling
from citewell.library import Library
from citewell.ranking.sentences import SentenceRanking

RETURNED = "sentences:"
ORACLE = "oracle:"
VIEWS = {RETURNED: "sentences of the returned papers", ORACLE: "sentences of the relevant papers"}
"""What a ranking of sentences is made from; the name is a prefix of its measures, as in ``sentences:AP``."""
DOCUMENTS = 10
"""Sentences are taken from this many of the returned papers."""
MEASURES = ("P@1", "R@3", "R@10", "RR", "AP", "nDCG@10", "Success@1", "Success@3")


class SentenceIds:
    """The sentences of one library by id: the id of the paper and the position in it."""

    def __init__(self, library: Library, names: Names) -> None:
        self._library = library
        self._names = names

    def relevant(self, judged: JudgedQuery) -> list[str]:
        """The sentences that are relevant to a query."""
        ids: dict[str, None] = {}
        for name, texts in judged.sentences.items():
            number = self._names.number(name)
            if number is not None:
                here = [sentence.text for sentence in self._library.store.sentences(number)]
                ids.update({self._id(number, here.index(text)): None for text in texts if text in here})
        return list(ids)

    def ranked(self, ranking: SentenceRanking) -> dict[str, float]:
        """A ranking of sentences as a run has it."""
        ids = [self._id(paper, place) for paper, place in zip(ranking.papers, ranking.places, strict=True)]
        return dict(zip(ids, strictly_falling(np.asarray(ranking.scores, np.float32)).tolist(), strict=True))

    def _id(self, paper: int, place: int) -> str:
        return f"{self._names.ids([int(paper)])[0]}#{int(place)}"
