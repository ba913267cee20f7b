"""Dev measures of sentence retrieval: every sentence of a pool of papers is searched for every query.

The pool of a set is the papers that BM25 returns for any of its dev queries, and the relevant ones. A re-ranker is measured on
the candidates of each query (`citewell.train.sentence_measures`); a retriever has to find the papers among those of all others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from citewell.train.sentence_data import SentenceData
from citewell.train.sentence_measures import DOCUMENTS, average_precision
from citewell.types import Float32Array


class SentencePool:
    """The sentences of the pool of one set, titles included, and the dev queries that search them."""

    def __init__(self, data: SentenceData, place: int, queries: int, depth: int) -> None:
        self._data = data
        self._name = data.sets[place]
        self.queries: list[int] = data.queries("dev", place)[:queries].tolist()
        found = [data.candidates(query)[0][:depth] for query in self.queries]
        papers = np.unique(np.concatenate([np.zeros(0, np.int64), *found, *map(data.relevant, self.queries)]))
        self._papers = papers.astype(np.int64)
        ranges = [np.arange(*data.paper_at[paper : paper + 2]) for paper in self._papers.tolist()]
        self.sentences = np.concatenate([np.zeros(0, np.int64), *ranges]).astype(np.int64)
        """The sentences, by their number in the data, paper by paper; the first of each is its title."""
        self._starts = np.cumsum([0, *map(len, ranges)])

    def measure(self, score: Callable[[int], Float32Array]) -> dict[str, float]:
        """Average precision of papers by their best sentence, and of the sentences of the top ten; empty without queries."""
        papers, sentences = [], []
        for query in self.queries:
            scores = score(query)
            best = np.maximum.reduceat(scores, self._starts[:-1])
            order = np.argsort(-best, kind="stable")
            papers.append(average_precision(self._papers[order], self._data.relevant(query)))
            if len(relevant := self._data.relevant_sentences(query)):
                # The title counts for its paper; as a result it is no sentence.
                top = [np.arange(self._starts[at] + 1, self._starts[at + 1]) for at in order[:DOCUMENTS].tolist()]
                rows = np.concatenate(top)
                ranked = self.sentences[rows[np.argsort(-scores[rows], kind="stable")]]
                sentences.append(average_precision(ranked, relevant))
        figures = {"AP": papers, "sentences AP": sentences}
        return {f"{self._name} evidence {name}": float(np.mean(values)) for name, values in figures.items() if values}
