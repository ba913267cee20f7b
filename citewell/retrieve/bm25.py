"""BM25 over any mix of a paper's three texts, with k1 and b chosen at query time.

`citewell.library.index.bm25` has the formula and does the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.index import bm25
from citewell.library.index.bm25 import BlockScores, FieldQuery
from citewell.library.index.postings import INDEXED
from citewell.papers import Ranking, Reason
from citewell.ranking.query_terms import query_terms
from citewell.ranking.request import Request

_SHOWN_WORDS = 5


@dataclass(frozen=True)
class Bm25:
    """The stage; its parameters are those of ``pipelines.toml``."""

    fields: dict[str, float] = field(default_factory=lambda: {"own": 1.0})
    k1: float = 1.2
    b: float = 0.75
    size: int = 1000
    form: str = "text"
    key_terms: int = 30

    def __post_init__(self) -> None:
        if unknown := set(self.fields) - set(INDEXED):
            raise CitewellError(f"papers have no text {unknown.pop()!r}; there are {', '.join(INDEXED)}")
        if not (self.size >= 1 and self.k1 >= 0 and 0 <= self.b <= 1):
            raise CitewellError("BM25 needs k1 of 0 or more, b from 0 to 1, and a size of 1 or more")

    def rank(self, request: Request) -> Ranking:
        """The best papers for the request's query."""
        return Ranking(*bm25.top_k(self._scores(request), self.size, request.allowed))

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The scores of some papers, 0 for those that share no word with the query."""
        return bm25.scores_of(self._scores(request), papers)

    def _scores(self, request: Request) -> BlockScores:
        """The score of every number of every block."""
        return request.remember(f"scores of {self}", lambda: self._score_all(request))

    def _score_all(self, request: Request) -> BlockScores:
        queries, _ = self._looked_up(request)
        return bm25.score(request.library.index, queries, self.k1, self.b)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """For each paper the words that it was found by, the ones that counted most first."""
        found = self.explain(request, papers)
        kind, said = ("authors", "by an author of the draft: ") if self.form == "authors" else ("words", "matches ")
        return {
            num: [Reason(kind, said + ", ".join(words), words)]
            for num, shares in found.items()
            if (words := list(shares)[:_SHOWN_WORDS])
        }

    def explain(self, request: Request, papers: list[int]) -> dict[int, dict[str, float]]:
        """What each word of the query adds to the score of each paper, the largest first; the sum is the score."""
        queries, words = self._looked_up(request)
        nums = np.array(papers, np.int64)
        shares = bm25.term_shares(request.library.index, queries, self.k1, self.b, nums, len(words))
        explained = {}
        for num, row in zip(papers, shares, strict=True):
            explained[num] = together = dict[str, float]()
            for at in np.argsort(-row, kind="stable")[: np.count_nonzero(row > 0)].tolist():
                together[words[at]] = together.get(words[at], 0.0) + float(row[at])
        return explained

    def _looked_up(self, request: Request) -> tuple[list[FieldQuery], list[str]]:
        """The terms looked up in every field of the mix, and the words that they are in the query; once per query."""
        return request.remember(f"terms of {self}", lambda: self._look_up_terms(request))

    def _look_up_terms(self, request: Request) -> tuple[list[FieldQuery], list[str]]:
        terms = sorted(query_terms(request, self.form, self.key_terms).items())
        hashes = np.array([term for term, _ in terms], np.int64)
        frequencies = np.array([times for _, (_, times) in terms], np.float64)
        queries = bm25.prepare(request.library.index, self.fields, hashes, frequencies, request.excluded)
        return queries, [word for _, (word, _) in terms]
