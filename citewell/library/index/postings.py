"""Postings: which papers of a block contain which terms, and how often.

Papers are numbered, and numbers are divided into blocks of 65,536. A segment has the postings of one text field for some papers
of one block, so a posting's paper fits 16 bits, a block's scores fit a core's cache, and no merge handles more than one block.
A term that most papers lack is stored as a list of papers and frequencies, four bytes each; a term that at least one paper in
eight contains is stored as a row of one byte for every paper, which vector instructions go through ten times as fast.

Segments of the same field and block form a stack: the newest one that lists a paper has its current entry. A paper that was
removed, or has lost this field, is listed with the length `GONE`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

BLOCK_BITS = 16
BLOCK = 1 << BLOCK_BITS
GONE = np.uint32(0xFFFFFFFF)
"""The length of a paper that a segment no longer has text for. It has the dtype of `Postings.lengths`: numpy refuses a bare
Python integer of this size next to an array of int32."""
FIELDS = ("own", "cited", "citing")
"""A paper's own text; the contexts in which others cite it; the contexts in which it cites others."""
BITS = {name: 1 << at for at, name in enumerate(FIELDS)}
"""How the store notes which fields of a paper are out of date."""
JOINED = {"own+cited": "cited", "own+citing": "citing"}
"""Own text and another as one. Segments have the papers that have the other; the rest is read from the own text's segments."""
AUTHORS = "authors"
"""The names of a paper's authors, each as `identity.author_terms` writes it."""
INDEXED = (*FIELDS, *JOINED, AUTHORS)
STALE_BY = {**BITS, **{name: BITS["own"] | BITS[other] for name, other in JOINED.items()}, AUTHORS: BITS["own"]}
"""For each indexed field, the bits that mark it as out of date."""

_MAX_FREQUENCY = 0xFFFF
"""More occurrences of a term in one paper count as this many; BM25 has long been flat by then."""
_DENSE_SHARE = 8
_DENSE_AT_LEAST = 256


class Postings(NamedTuple):
    """One segment's arrays. Papers are numbers within the block; in postings, distances from the first of `papers`."""

    papers: npt.NDArray[np.uint16]
    """The papers that this segment lists, ascending."""
    lengths: npt.NDArray[np.uint32]
    """Their numbers of terms, or `GONE`."""
    dates: npt.NDArray[np.int32]
    """Their dates as yyyymmdd, 0 where unknown."""
    terms: npt.NDArray[np.int64]
    """Term hashes, ascending."""
    counts: npt.NDArray[np.uint32]
    """How many papers contain each term."""
    starts: npt.NDArray[np.uint32]
    """Where each term's list begins, and the end of the last; the list of a dense term is empty."""
    docs: npt.NDArray[np.uint16]
    """The papers of each list, ascending within a term."""
    frequencies: npt.NDArray[np.uint16]
    dense_terms: npt.NDArray[np.int32]
    """Which of `terms` are dense, ascending."""
    dense: npt.NDArray[np.uint8]
    """A row of frequencies for each dense term."""

    @property
    def first(self) -> int:
        """The number within the block from which postings count."""
        return int(self.papers[0])

    @property
    def span(self) -> int:
        """How many consecutive numbers the segment's papers cover."""
        return int(self.papers[-1]) - self.first + 1


def build(
    papers: npt.NDArray[np.uint16],
    lengths: npt.NDArray[np.uint32],
    dates: npt.NDArray[np.int32],
    numbers: npt.NDArray[np.int32],
    hashes: npt.NDArray[np.int64],
) -> Postings:
    """Postings of papers whose terms stand one paper after the other in `numbers`; `hashes` gives each number's hash.

    Sorting one 64-bit key per occurrence, the term's rank above the paper's number, is nearly all of the work.
    """
    present = np.flatnonzero(np.bincount(numbers, minlength=1))
    by_hash = present[np.argsort(hashes[present])]
    rank = np.zeros(len(hashes), np.int64)
    rank[by_hash] = np.arange(len(by_hash))
    keys = rank[numbers]
    keys <<= BLOCK_BITS
    keys |= np.repeat(papers - papers[0], np.where(lengths == GONE, 0, lengths))
    keys.sort()
    first = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))
    frequencies = np.minimum(np.diff(np.append(first, len(keys))), _MAX_FREQUENCY).astype(np.uint16)
    return _from_sorted(papers, lengths, dates, hashes[by_hash], keys[first], frequencies)


def merge(stack: Sequence[Postings], keep_gone: bool) -> Postings | None:
    """One segment with the current entries of `stack` (oldest first), None if there are none.

    `keep_gone` keeps removed papers listed, for where older segments lie below.
    """
    newest = np.full(BLOCK, -1, np.int64)
    for level, segment in enumerate(stack):
        newest[segment.papers] = level
    lengths = np.full(BLOCK, GONE, np.uint32)
    dates = np.zeros(BLOCK, np.int32)
    keys, frequencies = [], []
    terms = np.unique(np.concatenate([segment.terms for segment in stack]))
    for level, segment in enumerate(stack):
        mine = newest[segment.papers] == level
        lengths[segment.papers[mine]] = segment.lengths[mine]
        dates[segment.papers[mine]] = segment.dates[mine]
        rank, docs, times = _as_lists(segment)
        current = newest[docs] == level
        keys.append((np.searchsorted(terms, segment.terms)[rank[current]] << BLOCK_BITS) | docs[current])
        frequencies.append(times[current])
    papers = np.flatnonzero((newest >= 0) & (keep_gone | (lengths != GONE))).astype(np.uint16)
    if not len(papers):
        return None
    all_keys = np.concatenate(keys)
    order = np.argsort(all_keys)
    all_keys = all_keys[order] - int(papers[0])
    used, rank = np.unique(all_keys >> BLOCK_BITS, return_inverse=True)
    all_keys = (rank << BLOCK_BITS) | (all_keys & (BLOCK - 1))
    return _from_sorted(papers, lengths[papers], dates[papers], terms[used], all_keys, np.concatenate(frequencies)[order])


def _as_lists(segment: Postings) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint16]]:
    """Every posting as term position, paper within the block, and frequency; dense ones last."""
    rank = np.repeat(np.arange(len(segment.terms)), segment.starts[1:] - segment.starts[:-1])
    row, doc = np.nonzero(segment.dense)
    return (
        np.concatenate((rank, segment.dense_terms[row])),
        np.concatenate((segment.docs, doc)).astype(np.int64) + segment.first,
        np.concatenate((segment.frequencies, segment.dense[row, doc])).astype(np.uint16),
    )


def _from_sorted(
    papers: npt.NDArray[np.uint16],
    lengths: npt.NDArray[np.uint32],
    dates: npt.NDArray[np.int32],
    terms: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int64],
    frequencies: npt.NDArray[np.uint16],
) -> Postings:
    """Postings from sorted, unique (term rank, paper) keys and their frequencies; common terms become dense rows."""
    starts = np.searchsorted(keys, np.arange(len(terms) + 1, dtype=np.int64) << BLOCK_BITS)
    counts = np.diff(starts)
    docs = (keys & (BLOCK - 1)).astype(np.uint16)
    span = int(papers[-1]) - int(papers[0]) + 1
    common = np.flatnonzero((counts >= _DENSE_AT_LEAST) & (counts * _DENSE_SHARE >= span))
    common = np.array([term for term in common if frequencies[starts[term] : starts[term + 1]].max() < 256], np.int64)
    dense = np.zeros((len(common), span), np.uint8)
    listed = np.ones(len(docs), bool)
    for row, term in enumerate(common):
        here = slice(starts[term], starts[term + 1])
        dense[row, docs[here]] = frequencies[here]
        listed[here] = False
    in_lists = counts.copy()
    in_lists[common] = 0
    return Postings(
        papers,
        lengths,
        dates,
        terms,
        counts.astype(np.uint32),
        np.concatenate(([0], np.cumsum(in_lists))).astype(np.uint32),
        docs[listed],
        frequencies[listed],
        common.astype(np.int32),
        dense,
    )
