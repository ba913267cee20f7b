"""BM25 over any mix of a paper's three texts, with k1 and b chosen at query time.

Every posting of every query term is scored: for queries as long as a manuscript that is faster than skipping. The score of a
paper is the weighted sum over fields of

    sum over terms of  qtf * idf * tf / (tf + k1 * (1 - b + b * length / mean length)),
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

with N, df and mean length counted over all live papers that have the field and are not excluded, exactly, however many
segments they lie in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.index.collection_stats import Visible
from citewell.library.index.index import Places, Segment
from citewell.library.index.postings import BLOCK, BLOCK_BITS, INDEXED
from citewell.library.index.scoring import accumulate
from citewell.papers import Ranking, Reason
from citewell.ranking.query_terms import QueryTerms, query_terms
from citewell.ranking.request import Request
from citewell.ranking.top_k import Best

_SHOWN_WORDS = 5


@dataclass
class _Lookup:
    """A query's terms found in every segment of one field."""

    average: float
    """The mean length of the field's texts."""
    weights: npt.NDArray[np.float32]
    """The weight of each term: the field's, times its frequency in the query, times its idf."""
    places: dict[str, Places]


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
        best = Best(self.size)
        for block, scores in self._scores(request).items():
            mask = request.allowed(block)
            best.offer(block, scores if mask is None else np.where(mask, scores, np.float32(0)))
        return best.ranking()

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The scores of some papers, 0 for those that share no word with the query."""
        scores = self._scores(request)
        found = np.zeros(len(papers), np.float32)
        for block in np.unique(papers >> BLOCK_BITS).tolist():
            if block in scores:
                here = papers >> BLOCK_BITS == block
                found[here] = scores[block][papers[here] & (BLOCK - 1)]
        return found

    def _scores(self, request: Request) -> dict[int, npt.NDArray[np.float32]]:
        """The score of every number of every block."""
        return request.remember(f"scores of {self}", lambda: self._score_all(request))

    def _score_all(self, request: Request) -> dict[int, npt.NDArray[np.float32]]:
        index = request.library.index
        lookups, _ = self._looked_up(request)
        blocks = {}
        for block in index.blocks:
            blocks[block] = scores = np.zeros(BLOCK, np.float32)
            for name, lookup in lookups.items():
                for segment in index.stack(name, block):
                    postings = segment.postings
                    accumulate(
                        scores[postings.first : postings.first + postings.span],
                        segment.norms(self.k1, self.b, lookup.average),
                        postings,
                        lookup.places[segment.entry.file],
                        lookup.weights,
                    )
        return blocks

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
        index = request.library.index
        lookups, words = self._looked_up(request)
        nums = np.array(papers, np.int64)
        shares = np.zeros((len(papers), len(words)))
        for block in np.unique(nums >> BLOCK_BITS).tolist():
            here = np.flatnonzero(nums >> BLOCK_BITS == block)
            for name, lookup in lookups.items():
                for segment in index.stack(name, block):
                    shares[here] += self._shares(segment, lookup, nums[here] & (BLOCK - 1))
        explained = {}
        for num, row in zip(papers, shares, strict=True):
            explained[num] = together = dict[str, float]()
            for at in np.argsort(-row, kind="stable")[: np.count_nonzero(row > 0)].tolist():
                together[words[at]] = together.get(words[at], 0.0) + float(row[at])
        return explained

    def _looked_up(self, request: Request) -> tuple[dict[str, _Lookup], list[str]]:
        """The terms found in every field of the mix, and the words that they are in the query; worked out once a query."""
        return request.remember(f"terms of {self}", lambda: self._look_up_terms(request))

    def _look_up_terms(self, request: Request) -> tuple[dict[str, _Lookup], list[str]]:
        terms = query_terms(request, self.form, self.key_terms)
        return self._look_up(Visible(request), terms), [word for _, (word, _) in sorted(terms.items())]

    def _look_up(self, visible: Visible, terms: QueryTerms) -> dict[str, _Lookup]:
        """Find the terms, by ascending hash, in every field of the mix."""
        hashes = np.array(sorted(terms), np.int64)
        times = np.array([terms[int(term)][1] for term in hashes], np.float64)
        lookups = {}
        for name, weight in self.fields.items():
            texts, average = visible.totals(name)
            places = visible.places(name, hashes)
            holding = visible.holding(name, places, len(hashes))
            idf = np.log(1 + (texts - holding + 0.5) / (holding + 0.5))
            lookups[name] = _Lookup(average, (weight * times * idf).astype(np.float32), places)
        return lookups

    def _shares(self, segment: Segment, lookup: _Lookup, docs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """What each term adds to the score of each of some papers; nothing for those that this segment does not speak for."""
        shares = np.zeros((len(docs), len(lookup.weights)))
        at = docs - segment.postings.first
        inside = np.flatnonzero((at >= 0) & (at < segment.postings.span))
        spoken = inside[np.isfinite(segment.lengths[at[inside]])]
        if not len(spoken):
            return shares
        norms = segment.norms(self.k1, self.b, lookup.average)[at[spoken]]
        places = lookup.places[segment.entry.file]
        for term in np.flatnonzero(places.counts).tolist():
            times = segment.frequencies(places, term, at[spoken]).astype(np.float32)
            shares[spoken, term] = lookup.weights[term] * (times / (times + norms))
        return shares
