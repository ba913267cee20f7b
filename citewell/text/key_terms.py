"""Key terms: the most informative words of a text, given their frequency in the library.

The score is Bo1 of the divergence-from-randomness family: the information content of a term's frequency in the text, if terms
were distributed at random over the library. Terms that are not in the library are dropped, since they retrieve nothing.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from citewell.types import Float64Array, IntArray


class Frequencies(Protocol):
    """Term frequencies of a library."""

    def occurrences(self, field: str, hashes: IntArray) -> IntArray: ...

    def totals(self, name: str) -> tuple[int, float]: ...


def bo1(in_text: IntArray, in_library: IntArray, texts: int) -> Float64Array:
    """The Bo1 score of terms from their frequency in a text and in a library of `texts` texts."""
    rate = np.maximum(in_library, 1) / max(texts, 1)
    scores = in_text * np.log2((1 + rate) / rate) + np.log2(1 + rate)
    return np.where(in_library > 0, scores.astype(np.float64), 0.0)


def key_terms(terms: dict[int, tuple[str, float]], library: Frequencies, size: int) -> dict[int, tuple[str, float]]:
    """The `size` best terms of a text, best first, each with weight 1."""
    hashes = np.array(list(terms), np.int64)
    counts = np.array([times for _, times in terms.values()], np.int64)
    scores = bo1(counts, library.occurrences("own", hashes), library.totals("own")[0])
    best = [at for at in np.argsort(-scores, kind="stable")[:size] if scores[at] > 0]
    return {int(hashes[at]): (terms[int(hashes[at])][0], 1) for at in best}
