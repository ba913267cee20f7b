"""Finding the terms of a query in a segment's dictionary: in numpy at first, compiled once `scoring` loads the compiled loops.

A segment has its terms as sorted 64-bit hashes. Hashes are evenly spread, so the compiled search starts where a hash would lie
if they were exactly so, which is a few cache lines from where it lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from citewell.library.index.postings import Postings
from citewell.types import IntArray


class Places(NamedTuple):
    """Where a segment has the postings of each term of a query."""

    starts: IntArray
    ends: IntArray
    rows: IntArray
    """The dense row of each term, or -1."""
    counts: IntArray
    """The number of live papers that contain the term."""


_compiled: Callable[..., None] | None = None


def find(postings: Postings, hashes: IntArray) -> tuple[IntArray, Places]:
    """The position of each term in the dictionary (any where the segment lacks it), and where its postings are."""
    if not len(postings.terms):
        nothing = np.zeros(len(hashes), np.int64)
        return nothing, Places(nothing, nothing, nothing - 1, nothing)
    return find_in_numpy(postings, hashes) if _compiled is None else _find_compiled(postings, hashes)


def use_compiled(loop: Callable[..., None]) -> None:
    """Use the compiled search from now on."""
    global _compiled
    _compiled = loop


def _find_compiled(postings: Postings, hashes: IntArray) -> tuple[IntArray, Places]:
    assert _compiled is not None
    at, starts, ends, rows, counts = np.empty((5, len(hashes)), np.int64)
    _compiled(
        postings.terms,
        postings.starts,
        postings.counts,
        postings.dense_terms,
        np.ascontiguousarray(hashes),
        at,
        starts,
        ends,
        rows,
        counts,
    )
    return at, Places(starts, ends, rows, counts)


def find_in_numpy(postings: Postings, hashes: IntArray) -> tuple[IntArray, Places]:
    """The same, one vector operation after the other."""
    at = np.searchsorted(postings.terms, hashes)
    at[at == len(postings.terms)] = 0
    known = postings.terms[at] == hashes
    starts = postings.starts[at].astype(np.int64)
    ends = np.where(known, postings.starts[at + 1], starts).astype(np.int64)
    rows = np.full(len(hashes), -1, np.int64)
    if len(postings.dense_terms):
        row = np.searchsorted(postings.dense_terms, at)
        row[row == len(postings.dense_terms)] = 0
        rows = np.where(known & (postings.dense_terms[row] == at), row, -1)
    return at, Places(starts, ends, rows, np.where(known, postings.counts[at], 0).astype(np.int64))
