"""Stages that score papers by a model trained on the library (`citewell.library.trained_models` has its files)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from citewell.arrays import Arrays
from citewell.library.library import Library
from citewell.library.trained_models import load_model, untrained
from citewell.papers import Ranking, Reason
from citewell.ranking.query_terms import query_terms
from citewell.ranking.request import Request
from citewell.ranking.top_k import best_first

_SHOWN_WORDS = 5

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


class Trained(ABC):
    """A stage that scores the rows of one trained model; how is all that the methods differ in."""

    model: str
    size: int

    def needs(self) -> set[str]:
        """The models that must have been trained."""
        return {self.model}

    def notes(self, library: Library) -> list[str]:
        """That papers came after the model was trained, where some did."""
        later = untrained(library, self.model)
        papers = "1 paper" if later == 1 else f"{later:,} papers"
        line = f"{papers} came after {self.model!r} was trained and cannot be found by it; 'citewell train {self.model}'"
        return [f"{line} trains it again"] if later else []

    def rank(self, request: Request) -> Ranking:
        return ranked(request, self.arrays(request), self._scores(request), self.size)

    def score(self, request: Request, papers: Numbers) -> Floats:
        """The scores of some papers, 0 for those that the model does not know."""
        return picked(self.arrays(request), self._scores(request), papers)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """For each paper the words of the query that it was found by."""
        model = self.arrays(request)
        rows, known = rows_of(model, "papers", np.array(papers, np.int64))
        kind, said = self.kind_of_reason
        found = {}
        for num, row in zip(np.array(papers)[known].tolist(), rows[known].tolist(), strict=True):
            words, shares = self.shares(request, model, row)
            most = [words[at] for at in np.argsort(-shares, kind="stable")[:_SHOWN_WORDS] if shares[at] > 0]
            if most:
                found[num] = [Reason(kind, f"{said} {', '.join(most)}", most)]
        return found

    def arrays(self, request: Request) -> Arrays:
        return load_model(request.library, self.model)

    def _scores(self, request: Request) -> Floats:
        return request.remember(f"scores of {self}", lambda: self.score_all(request, self.arrays(request)))

    kind_of_reason: ClassVar[tuple[str, str]]
    """The kind of its reasons, and how their sentence begins."""

    @abstractmethod
    def score_all(self, request: Request, model: Arrays) -> Floats:
        """The score of every row of the model; 0 for all where the query has no word that it knows."""

    @abstractmethod
    def shares(self, request: Request, model: Arrays, row: int) -> tuple[list[str], Floats]:
        """The words of the query that the model knows, and how much each speaks for the paper of a row."""


def words_of(request: Request, form: str, model: Arrays, key: str) -> tuple[list[str], Floats, Floats]:
    """The words of the query that the model knows, what each counts, and its row of the array called `key`."""
    terms = query_terms(request, form, 0)
    rows, known = rows_of(model, "words", np.array(list(terms), np.int64))
    words = [word for (word, _), here in zip(terms.values(), known, strict=True) if here]
    weights = np.array([weight for _, weight in terms.values()], np.float32)[known]
    return words, weights, model[key][rows[known]]


def rows_of(model: Mapping[str, npt.NDArray[Any]], key: str, wanted: Numbers) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The row of each wanted paper or word (by number or hash), and whether it has one."""
    known = model[key]
    rows = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    return rows, known[rows] == wanted if len(known) else np.zeros(len(wanted), bool)


def ranked(request: Request, model: Mapping[str, npt.NDArray[Any]], scores: Floats, size: int) -> Ranking:
    """The best papers of a model by the scores of its rows, of those that are still there and may be found."""
    papers: Numbers = model["papers"]
    live = request.library.index.listed("own")
    rows = np.flatnonzero(scores > 0)
    rows = rows[np.isin(papers[rows], live, assume_unique=True)]
    rows = rows[request.may_find(papers[rows])]
    if len(rows) > size:  # far fewer are left to sort
        rows = rows[scores[rows] >= np.partition(scores[rows], -size)[-size]]
    return best_first(papers[rows], scores[rows].astype(np.float64), size)


def picked(model: Mapping[str, npt.NDArray[Any]], scores: Floats, papers: Numbers) -> Floats:
    """The scores of some papers, 0 for those that the model does not know."""
    rows, known = rows_of(model, "papers", papers)
    return np.where(known, scores[rows], np.float32(0)) if len(scores) else np.zeros(len(papers), np.float32)
