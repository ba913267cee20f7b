"""BM25 over any mix of a paper's texts, with k1 and b chosen at query time.

The score of a paper is the weighted sum over fields of

    sum over terms of  weight * idf * tf / (tf + k1 * (1 - b + b * length / mean length)),
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

with N, df and mean length counted exactly over all papers that have the field and are not hidden from the query.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from citewell.collection.interface import FIELDS, BM25Query
from citewell.errors import CitewellError
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Retriever
from citewell.ranking.query_terms import FORMS, query_terms, word_numbers
from citewell.ranking.request import Request
from citewell.types import Float32Array, PaperNumbers

_SHOWN_WORDS = 5


@dataclass(frozen=True)
class BM25(Retriever):
    """BM25 over the fields of the papers."""

    k1: float = 1.2
    b: float = 0.75
    fields: dict[str, float] = field(default_factory=lambda: {"own": 1.0})
    """The fields to search and how much each counts."""
    size: int = 1000
    form: str = "text"
    """Which terms of the query count, and how much (see `citewell.ranking.query_terms`)."""
    key_terms: int = 30
    """How many terms the form ``key terms`` takes."""

    def __post_init__(self) -> None:
        if unknown := set(self.fields) - set(FIELDS):
            raise CitewellError(f"There is no field {unknown.pop()!r}. Choose from {', '.join(FIELDS)}.")
        if self.form not in FORMS:
            raise CitewellError(f"A query has no form {self.form!r}. Choose one of {', '.join(FORMS)}.")
        if not (self.size >= 1 and self.k1 >= 0 and 0 <= self.b <= 1):
            raise CitewellError("BM25 needs k1 of 0 or more, b from 0 to 1, and a size of 1 or more.")

    def retrieve(self, request: Request) -> Ranking:
        query, _ = self._query(request)
        return request.collection.bm25_top_k(query, self.size, request.filters)

    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """The scores of papers, NaN for those that share no term with the query."""
        scores = request.collection.bm25_scores(self._query(request)[0], papers)
        return np.where(scores > 0, scores, np.float32(np.nan))

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """For each paper the words that it matches, those that count most first."""
        kind, start = ("authors", "By an author of the draft: ") if self.form == "authors" else ("words", "Matches ")
        return {
            number: [Reason(kind, f"{start}{', '.join(words)}".rstrip(".") + ".", words)]
            for number, shares in self.contributions(request, papers).items()
            if (words := list(shares)[:_SHOWN_WORDS])
        }

    def contributions(self, request: Request, papers: list[int]) -> dict[int, dict[str, float]]:
        """What each word of the query adds to the score of each paper, the largest first; the sum is the score."""
        query, words = self._query(request)
        rows = request.collection.bm25_contributions(query, np.array(papers, np.int64))
        explained = {}
        for number, row in zip(papers, rows, strict=True):
            explained[number] = by_word = dict[str, float]()
            for at in np.argsort(-row, kind="stable")[: np.count_nonzero(row > 0)].tolist():
                by_word[words[at]] = by_word.get(words[at], 0.0) + float(row[at])
        return explained

    def _query(self, request: Request) -> tuple[BM25Query, list[str]]:
        """The query's terms by ascending hash, and the words that they are in the query."""

        def compute() -> tuple[BM25Query, list[str]]:
            terms = sorted(query_terms(request, self.form, self.key_terms).items())
            hashes = np.array([term for term, _ in terms], np.int64)
            weights = np.array([weight for _, (_, weight) in terms], np.float64)
            hidden = tuple(request.hidden.tolist())
            words = [word for _, (word, _) in terms]
            same = None if self.form == "authors" else word_numbers(request, words)
            return BM25Query(hashes, weights, tuple(self.fields.items()), self.k1, self.b, hidden, same), words

        return request.memo(self.key, "query", compute)
