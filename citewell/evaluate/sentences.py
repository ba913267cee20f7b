"""Sentences as answers: where the marked ones stand in a library, and how a ranking of them is named.

A set marks sentences by their place in its own record of a paper. The library may have merged that record with another, so the
marked sentence is found there by its words.
"""

from __future__ import annotations

import numpy as np

from citewell.evaluate.names import Names
from citewell.evaluate.queries import Question
from citewell.evaluate.trec import strictly_falling
from citewell.library import Library
from citewell.ranking.sentences import SentenceRanking

RETURNED = "snippets:"
GIVEN = "given:"
VIEWS = {RETURNED: "sentences of the returned papers", GIVEN: "sentences of the right papers"}
DOCUMENTS = 10
"""Sentences are taken from so many of the returned papers."""
MEASURES = ("P@1", "R@3", "R@10", "RR", "AP", "nDCG@10", "Success@1", "Success@3")


class Places:
    """The sentences of one library by name: the paper's id and the place in it."""

    def __init__(self, library: Library, names: Names) -> None:
        self._library = library
        self._names = names

    def marked(self, question: Question) -> list[str]:
        """The sentences that answer a question."""
        found: dict[str, None] = {}
        for name, texts in question.sentences.items():
            number = self._names.number(name)
            if number is not None:
                here = [sentence.text for sentence in self._library.store.sentences(number)]
                found.update({self._name(number, here.index(text)): None for text in texts if text in here})
        return list(found)

    def ranked(self, ranking: SentenceRanking) -> dict[str, float]:
        """A ranking of sentences as a run has it."""
        names = [self._name(paper, place) for paper, place in zip(ranking.papers, ranking.places, strict=True)]
        return dict(zip(names, strictly_falling(np.asarray(ranking.scores, np.float32)).tolist(), strict=True))

    def _name(self, paper: int, place: int) -> str:
        return f"{self._names.ids([int(paper)])[0]}#{int(place)}"
