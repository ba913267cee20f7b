"""What stages share that score papers by a model which was trained on the library (``citewell train``)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Requirement, Retriever, TrainedModel
from citewell.ranking.query_terms import query_terms
from citewell.ranking.request import Request
from citewell.ranking.top_k import rank
from citewell.types import Array, Float32Array, IntArray, Mask, PaperNumbers

Arrays = Mapping[str, Array]
_SHOWN_WORDS = 5


class Trained(Retriever):
    """A retriever that scores the rows of one trained model."""

    model: str
    size: int
    reason: ClassVar[tuple[str, str]]
    """The kind of its reasons, and how their text starts."""

    @abstractmethod
    def score_rows(self, request: Request, model: Arrays) -> Float32Array:
        """The score of every row of the model; 0 where a row, or the whole query, has none."""

    @abstractmethod
    def contributions(self, request: Request, model: Arrays, row: int) -> tuple[list[str], Float32Array]:
        """The words of the query that the model knows, and how much each adds for the paper of a row."""

    def requirements(self) -> Sequence[Requirement]:
        return [TrainedModel(self.model)]

    def retrieve(self, request: Request) -> Ranking:
        return rank_rows(request, self._model(request), self._scores(request), self.size)

    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """The scores of papers, NaN for those that the model does not know."""
        return pick_rows(self._model(request), self._scores(request), papers)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """For each paper the words of the query that it is near to."""
        model = self._model(request)
        rows, known = rows_of(model, "papers", np.array(papers, np.int64))
        kind, start = self.reason
        reasons = {}
        for number, row in zip(np.array(papers)[known].tolist(), rows[known].tolist(), strict=True):
            words, shares = self.contributions(request, model, row)
            most = [words[at] for at in np.argsort(-shares, kind="stable")[:_SHOWN_WORDS] if shares[at] > 0]
            if most:
                reasons[number] = [Reason(kind, f"{start} {', '.join(most)}.", most)]
        return reasons

    def _model(self, request: Request) -> Arrays:
        return request.collection.trained_model(self.model)

    def _scores(self, request: Request) -> Float32Array:
        return request.memo(self.key, "scores of rows", lambda: self.score_rows(request, self._model(request)))


def query_words(request: Request, form: str, model: Arrays, key: str) -> tuple[list[str], Float32Array, Float32Array]:
    """The words of the query that the model knows, their weights, and their rows of the array called `key`."""
    terms = query_terms(request, form)
    rows, known = rows_of(model, "words", np.array(list(terms), np.int64))
    words = [word for (word, _), here in zip(terms.values(), known, strict=True) if here]
    weights = np.array([weight for _, weight in terms.values()], np.float32)[known]
    return words, weights, model[key][rows[known]]


def rows_of(model: Arrays, key: str, values: IntArray) -> tuple[IntArray, Mask]:
    """The row of each paper (by number) or word (by hash), and whether it has one."""
    known = model[key]
    rows = np.minimum(np.searchsorted(known, values), max(len(known) - 1, 0))
    return rows, known[rows] == values if len(known) else np.zeros(len(values), bool)


def rank_rows(request: Request, model: Arrays, scores: Float32Array, size: int) -> Ranking:
    """The best papers of a model by the scores of its rows, of those that are still in the library and pass the filters."""
    papers: PaperNumbers = model["papers"]
    rows = np.flatnonzero(scores > 0)
    rows = rows[request.collection.contains(papers[rows])]
    rows = rows[request.passes(papers[rows])]
    if len(rows) > size:  # leaves far fewer to sort
        rows = rows[scores[rows] >= np.partition(scores[rows], -size)[-size]]
    return rank(papers[rows], scores[rows].astype(np.float64), size)


def pick_rows(model: Arrays, scores: Float32Array, papers: PaperNumbers) -> Float32Array:
    """The scores of papers, NaN for those that the model does not know."""
    if not len(scores):
        return np.full(len(papers), np.nan, np.float32)
    rows, known = rows_of(model, "papers", papers)
    return np.where(known & (scores[rows] > 0), scores[rows], np.float32(np.nan))
