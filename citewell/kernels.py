"""The scoring loop, compiled. `citewell.library.index.scoring` says when it is used, and has its twin in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float32]


def _compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop as machine code, kept on disk where there is a place for it."""
    # With Python's error model each division checks for zero, and the loop over dense rows is not vectorised: ten times slower.
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(loop)
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        return njit(nogil=True, error_model="numpy")(loop)


@_compiled
def accumulate(
    scores: Floats,
    norms: Floats,
    docs: npt.NDArray[np.uint16],
    frequencies: npt.NDArray[np.uint16],
    dense: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    weights: Floats,
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
def products(codes: npt.NDArray[np.int8], query: npt.NDArray[np.int8], found: npt.NDArray[np.int32]) -> None:
    """The whole-number inner product of each row of `codes` with `query`."""
    for row in range(len(codes)):
        total = np.int32(0)
        for at in range(len(query)):
            total += np.int32(codes[row, at]) * np.int32(query[at])
        found[row] = total
