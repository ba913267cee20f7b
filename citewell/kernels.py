"""The scoring loop, compiled. `citewell.library.index.scoring` says when it is used, and has its twin in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit

from citewell.types import Float32Array


def _compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop as machine code, cached on disk if a folder can be written to."""
    # With Python's error model each division checks for zero, and the loop over dense rows is not vectorised: ten times slower.
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(loop)
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        return njit(nogil=True, error_model="numpy")(loop)


@_compiled
def accumulate(
    scores: Float32Array,
    norms: Float32Array,
    docs: npt.NDArray[np.uint16],
    frequencies: npt.NDArray[np.uint16],
    dense: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    weights: Float32Array,
) -> None:
    """Add each term's BM25 share to the scores of a segment's papers; a paper whose norm is infinite gets nothing.

    Terms are added in the order given, whether they are lists or dense rows (where `rows` is not negative), so that a paper's
    score does not depend, to the last bit, on how the library happens to be cut into segments.
    """
    for term in range(len(weights)):
        weight = weights[term]
        if rows[term] >= 0:
            row = dense[rows[term]]
            for doc in range(len(row)):
                times = np.float32(np.int32(row[doc]))
                scores[doc] += weight * (times / (times + norms[doc]))
        else:
            for at in range(starts[term], ends[term]):
                doc = docs[at]
                times = np.float32(np.int32(frequencies[at]))
                scores[doc] += weight * (times / (times + norms[doc]))


@_compiled
def find_terms(
    terms: npt.NDArray[np.int64],
    starts: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.uint32],
    dense_terms: npt.NDArray[np.int32],
    hashes: npt.NDArray[np.int64],
    out_at: npt.NDArray[np.int64],
    out_starts: npt.NDArray[np.int64],
    out_ends: npt.NDArray[np.int64],
    out_rows: npt.NDArray[np.int64],
    out_counts: npt.NDArray[np.int64],
) -> None:
    """Find each hash among the sorted `terms`, and where its postings are; a term that is not there has none.

    The list of a dense term is empty, which marks it as dense; its row is its position in `dense_terms`.
    """
    size = len(terms)
    for query in range(len(hashes)):
        term = hashes[query]
        guess = int((np.float64(term) + 2.0**63) * (size / 2.0**64))
        guess = min(max(guess, 0), size - 1)
        # Widen a window around the guess until it contains the first position that is not below the term, then halve it.
        step = 8
        low, high = guess, guess
        while low > 0 and terms[low] >= term:
            low = max(0, low - step)
            step *= 2
        step = 8
        while high < size and terms[high] < term:
            high = min(size, high + step)
            step *= 2
        while low < high:
            middle = (low + high) // 2
            if terms[middle] < term:
                low = middle + 1
            else:
                high = middle
        known = low < size and terms[low] == term
        at = low if low < size else 0
        out_at[query] = at
        out_starts[query] = starts[at]
        out_ends[query] = starts[at + 1] if known else starts[at]
        out_counts[query] = counts[at] if known else 0
        out_rows[query] = -1
        if known and starts[at] == starts[at + 1]:
            first, last = 0, len(dense_terms)
            while first < last:
                middle = (first + last) // 2
                if dense_terms[middle] < at:
                    first = middle + 1
                else:
                    last = middle
            if first < len(dense_terms) and dense_terms[first] == at:
                out_rows[query] = first


@_compiled
def products(codes: npt.NDArray[np.int8], query: npt.NDArray[np.int8], out: npt.NDArray[np.int32]) -> None:
    """The whole-number inner product of each row of `codes` with `query`."""
    for row in range(len(codes)):
        total = np.int32(0)
        for at in range(len(query)):
            total += np.int32(codes[row, at]) * np.int32(query[at])
        out[row] = total
