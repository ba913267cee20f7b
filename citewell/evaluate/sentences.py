"""Sentences as results: where the relevant ones are in a library, and how a ranking of sentences is named.

A set refers to sentences by their position in its own record of a paper. The library may have merged that record with another
one, so the relevant sentence is looked up there by its text.

Most measures count sentences. BioASQ's average precision counts characters (`citewell.evaluate.bioasq_measures`), so it needs
the offsets of sentences, which are those that ``citewell bioasq answer`` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from citewell.evaluate.bioasq import Snippet
from citewell.evaluate.bioasq_measures import score_snippets
from citewell.evaluate.measures import BIOASQ
from citewell.evaluate.names import Names
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.trec import strictly_falling
from citewell.library import Library
from citewell.ranking.sentences import SentenceRanking
from citewell.text.offsets import SentenceOffsets, sentence_offsets

RETURNED = "sentences:"
ORACLE = "oracle:"
VIEWS = {RETURNED: "sentences of the returned papers", ORACLE: "sentences of the relevant papers"}
"""What a ranking of sentences is made from; the name is a prefix of its measures, as in ``sentences:AP``."""
DOCUMENTS = 10
"""Sentences are taken from this many of the returned papers."""
COUNTED = ("P@1", "R@3", "R@10", "RR", "AP", "nDCG@10", "Success@1", "Success@3")
"""The measures that compare sentences by their ids."""
MEASURES = (*COUNTED, BIOASQ)


class SentenceIds:
    """The sentences of one library by id: the id of the paper and the position in it."""

    def __init__(self, library: Library, names: Names) -> None:
        self._library = library
        self._names = names
        self._offsets: dict[str, list[SentenceOffsets]] = {}

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

    def average_precision(self, relevant: Sequence[str], run: Mapping[str, float]) -> float:
        """BioASQ's average precision of the first ten sentences of a ranking."""
        return score_snippets(self._snippets(run), self._snippets(relevant)).average_precision

    def _snippets(self, ids: Iterable[str]) -> list[Snippet]:
        """Sentences as BioASQ's snippets; those that the library does not have are left out."""
        snippets = []
        for paper, _, place in (name.rpartition("#") for name in ids):
            offsets = self._offsets_of(paper)
            if int(place) < len(offsets):
                section, begin, end = offsets[int(place)]
                snippets.append(
                    Snippet(
                        document=paper,
                        offset_in_begin_section=begin,
                        offset_in_end_section=end,
                        begin_section=section,
                        end_section=section,
                    )
                )
        return snippets

    def _offsets_of(self, paper: str) -> list[SentenceOffsets]:
        if paper not in self._offsets:
            number, store = self._names.number(paper), self._library.store
            records = store.papers([number]) if number is not None else {}
            here = [sentence_offsets(record, store.quotable([each])[each]) for each, record in records.items()]
            self._offsets[paper] = here[0] if here else []
        return self._offsets[paper]

    def _id(self, paper: int, place: int) -> str:
        return f"{self._names.ids([int(paper)])[0]}#{int(place)}"
