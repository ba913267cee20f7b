"""BM25 over the whole index, with k1 and b chosen at query time.

Every posting of every query term is scored: for queries as long as a manuscript that is faster than skipping. The score of a
paper is the weighted sum over fields of

    sum over terms of  qtf * idf * tf / (tf + k1 * (1 - b + b * length / mean length)),
    idf = ln(1 + (N - df + 0.5) / (df + 0.5))

with N, df and mean length counted over all live papers that have the field and are not excluded, exactly, however many
segments they lie in. A caller prepares the query once (`prepare`), scores every paper (`score`), and then takes the best
(`top_k`), the scores of some papers (`scores_of`) or the share of each term (`term_shares`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from citewell.library.index.collection_stats import CollectionStats
from citewell.library.index.index import Index, Segment
from citewell.library.index.lookup import Places
from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.library.index.scoring import accumulate
from citewell.text.idf import by_word, idf
from citewell.types import Float32Array, Float64Array, IntArray, Mask, PaperNumbers

BlockScores = dict[int, Float32Array]
"""The score of every number of every block."""

_SAMPLE = 16
_MARGIN = 2


@dataclass(frozen=True)
class FieldQuery:
    """The terms of a query, looked up in every segment of one field."""

    field: str
    average: float
    """The mean length of the field's texts."""
    weights: Float32Array
    """The weight of each term: the field's, times its frequency in the query, times its idf."""
    places: Mapping[str, Places]
    """Where each segment has the postings, by its file name."""


def prepare(
    index: Index,
    fields: Mapping[str, float],
    hashes: IntArray,
    frequencies: Float64Array,
    excluded: Iterable[int] = (),
    words: IntArray | None = None,
) -> list[FieldQuery]:
    """Look up the terms of a query, given by ascending hash and with their frequencies in it, in each weighted field.

    `words` tells which word each term is of; all terms of a word are as frequent as the word is.
    """
    stats = CollectionStats(index, excluded)
    queries = []
    for name, weight in fields.items():
        texts, average = stats.totals(name)
        places = stats.places(name, hashes)
        counts = by_word(stats.document_frequencies(name, places, len(hashes)), words)
        weights = (weight * frequencies * idf(texts, counts)).astype(np.float32)
        queries.append(FieldQuery(name, average, weights, places))
    return queries


def score(index: Index, queries: Iterable[FieldQuery], k1: float, b: float) -> BlockScores:
    """The score of every number of every block; 0 where a paper contains no term of the query."""
    queries = list(queries)
    blocks = {}
    for block in index.blocks:
        blocks[block] = scores = np.zeros(BLOCK, np.float32)
        for query in queries:
            for segment in index.stack(query.field, block):
                postings = segment.postings
                accumulate(
                    scores[segment.first : segment.first + segment.span],
                    segment.norms(k1, b, query.average),
                    postings,
                    query.places[segment.entry.file],
                    query.weights,
                )
    return blocks


def scores_of(blocks: BlockScores, papers: PaperNumbers) -> Float32Array:
    """The scores of some papers, 0 for those that no block has."""
    scores = np.zeros(len(papers), np.float32)
    for block in np.unique(papers >> BLOCK_BITS).tolist():
        if block in blocks:
            here = papers >> BLOCK_BITS == block
            scores[here] = blocks[block][papers[here] & (BLOCK - 1)]
    return scores


def term_shares(
    index: Index, queries: Iterable[FieldQuery], k1: float, b: float, papers: PaperNumbers, terms: int
) -> Float64Array:
    """What each of the query's `terms` adds to the score of each paper; a row per paper, which adds up to its score."""
    queries = list(queries)
    shares = np.zeros((len(papers), terms))
    for block in np.unique(papers >> BLOCK_BITS).tolist():
        here = np.flatnonzero(papers >> BLOCK_BITS == block)
        for query in queries:
            for segment in index.stack(query.field, block):
                shares[here] += _shares(segment, query, k1, b, papers[here] & (BLOCK - 1))
    return shares


def _shares(segment: Segment, query: FieldQuery, k1: float, b: float, docs: IntArray) -> Float64Array:
    """The share of each term in the score of some papers of a block; 0 for papers that this segment has no live text of."""
    shares = np.zeros((len(docs), len(query.weights)))
    at = docs - segment.first
    inside = np.flatnonzero((at >= 0) & (at < segment.span))
    live = inside[np.isfinite(segment.lengths[at[inside]])]
    if not len(live):
        return shares
    norms = segment.norms(k1, b, query.average)[at[live]]
    places = query.places[segment.entry.file]
    for term in np.flatnonzero(places.counts).tolist():
        times = segment.frequencies(places, term, at[live]).astype(np.float32)
        shares[live, term] = query.weights[term] * (times / (times + norms))
    return shares


def top_k(
    blocks: BlockScores, k: int, mask_of: Callable[[int], Mask | None] = lambda block: None
) -> tuple[PaperNumbers, Float32Array]:
    """The `k` papers with the highest scores above 0 and their scores, best first; of equal ones the lower number first.

    `mask_of` says which numbers of a block may be returned; None stands for all.
    """
    best = TopK(k)
    for block, scores in blocks.items():
        mask = mask_of(block)
        best.offer(block, scores if mask is None else np.where(mask, scores, np.float32(0)))
    return best.result()


class TopK:
    """Collects the `k` highest positive scores of blocks that come one after the other; ties go to the lower number.

    The k-th best score seen so far is a bar that later blocks must reach, so few papers of a block are ever copied or sorted.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        self._bar = np.float32(0)
        self._papers: list[PaperNumbers] = []
        self._scores: list[Float32Array] = []
        self._count = 0

    def offer(self, block: int, scores: Float32Array) -> None:
        """Consider every number of a block."""
        at = self._candidates(scores)
        self._papers.append(at + block * BLOCK)
        self._scores.append(scores[at])
        self._count += len(at)
        if self._count > _MARGIN * self._k:
            self._cut()

    def result(self) -> tuple[PaperNumbers, Float32Array]:
        """The best papers of all blocks and their scores, best first."""
        if not self._papers:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if self._count > self._k:
            self._cut()
        papers, scores = np.concatenate(self._papers), np.concatenate(self._scores)
        order = np.lexsort((papers, -scores))[: self._k]
        return papers[order], scores[order]

    def _candidates(self, scores: Float32Array) -> IntArray:
        """The positions of all scores that may be among the best."""
        if self._bar > 0:
            return np.flatnonzero(scores >= self._bar)
        # A sample estimates where the k-th best score is: selecting among a few thousand is far cheaper than among all.
        sample = scores[::_SAMPLE]
        place = len(sample) - _MARGIN * self._k // _SAMPLE - 1
        guess = np.partition(sample, place)[place] if place >= 0 else np.float32(0)
        if guess > 0:
            at = np.flatnonzero(scores >= guess)
            if len(at) >= self._k:
                return at
        return np.flatnonzero(scores > 0)

    def _cut(self) -> None:
        """Keep the best `k` and those that tie with the last of them."""
        papers, scores = np.concatenate(self._papers), np.concatenate(self._scores)
        place = len(scores) - self._k
        self._bar = np.partition(scores, place)[place]
        best = scores >= self._bar
        self._papers, self._scores = [papers[best]], [scores[best]]
        self._count = len(self._papers[0])
