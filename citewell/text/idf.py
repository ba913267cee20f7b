"""BM25's idf, shared by every stage that weighs terms by how rare they are."""

from __future__ import annotations

import numpy as np

from citewell.types import Float64Array, IntArray


def idf(texts: int, document_frequencies: IntArray) -> Float64Array:
    """The idf of terms by their document frequencies among `texts` texts: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return np.asarray(np.log(1 + (texts - document_frequencies + 0.5) / (document_frequencies + 0.5)), np.float64)
