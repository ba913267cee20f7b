"""BM25's idf, shared by every stage that weighs terms by how rare they are."""

from __future__ import annotations

import numpy as np

from citewell.types import Float64Array, IntArray


def by_word(frequencies: IntArray, words: IntArray | None) -> IntArray:
    """The frequency of each term's word: of all terms of the same word together, given the number of each term's word."""
    if words is None:
        return frequencies
    return np.bincount(words, frequencies).astype(np.int64)[words] if len(words) else frequencies


def idf(texts: int, document_frequencies: IntArray) -> Float64Array:
    """The idf of terms by their document frequencies among `texts` texts: ln(1 + (N - df + 0.5) / (df + 0.5))."""
    return np.asarray(np.log(1 + (texts - document_frequencies + 0.5) / (document_frequencies + 0.5)), np.float64)
