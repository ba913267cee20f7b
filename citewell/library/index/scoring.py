"""Adding up BM25 over a segment: in numpy at first, compiled as soon as that pays.

Loading numba and the compiled loop takes longer than a single query over a large library takes in numpy alone. So a process
begins with numpy, keeps count of its work, and loads the compiled loop once it has spent about as much time as loading takes:
a single suggestion is instant, and an evaluation runs at full speed from its first second. Both do the same float operations
in the same order and agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from citewell.library.index import lookup
from citewell.library.index.lookup import Places
from citewell.library.index.postings import Postings
from citewell.types import Float32Array

_PATIENCE = 60_000_000
"""How many postings numpy scores in the time that loading numba takes, roughly."""

_compiled: Callable[..., None] | None = None
_scored = 0


def accumulate(scores: Float32Array, norms: Float32Array, postings: Postings, places: Places, weights: Float32Array) -> None:
    """Add each term's share to the scores of the papers that a segment covers."""
    global _scored
    if _compiled is None:
        _scored += int(places.counts.sum())
        if _scored > _PATIENCE:
            load_compiled()
    if _compiled is None:
        accumulate_in_numpy(scores, norms, postings, places, weights)
    else:
        _compiled(
            scores,
            norms,
            postings.docs,
            postings.frequencies,
            postings.dense,
            places.starts,
            places.ends,
            places.rows,
            weights,
        )


def load_compiled() -> None:
    """Use the compiled loop from now on; worth calling first where many queries will follow."""
    global _compiled
    from citewell import kernels as compiled

    _compiled = compiled.accumulate
    lookup.use_compiled(compiled.find_terms)


def accumulate_in_numpy(
    scores: Float32Array, norms: Float32Array, postings: Postings, places: Places, weights: Float32Array
) -> None:
    """The same, one vector operation after the other."""
    with np.errstate(invalid="ignore"):
        for term in np.flatnonzero(places.counts):
            if places.rows[term] >= 0:
                times = postings.dense[places.rows[term]].astype(np.float32)
                scores += weights[term] * (times / (times + norms))
            else:
                here = slice(places.starts[term], places.ends[term])
                docs = postings.docs[here]
                times = postings.frequencies[here].astype(np.float32)
                scores[docs] += weights[term] * (times / (times + norms[docs]))
