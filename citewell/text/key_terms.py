"""Key terms: the words of a text that say most about it, given how often the library uses them.

The score is Bo1 of the divergence-from-randomness family: the information in seeing a term as often as the text does when the
library's texts hold it at random. Terms that the library lacks are dropped, since nothing can be found by them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt


class Frequencies(Protocol):
    """What a library knows of the use of terms."""

    def occurrences(self, field: str, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...

    def totals(self, name: str) -> tuple[int, float]: ...


def bo1(in_text: npt.NDArray[np.int64], in_library: npt.NDArray[np.int64], texts: int) -> npt.NDArray[np.float64]:
    """The Bo1 score of terms that occur so often in a text and in a library of so many texts."""
    rate = np.maximum(in_library, 1) / max(texts, 1)
    scores = in_text * np.log2((1 + rate) / rate) + np.log2(1 + rate)
    return np.where(in_library > 0, scores.astype(np.float64), 0.0)


def key_terms(terms: dict[int, tuple[str, float]], library: Frequencies, size: int) -> dict[int, tuple[str, float]]:
    """The `size` best terms of a text, best first, each to be looked for once."""
    hashes = np.array(list(terms), np.int64)
    counts = np.array([times for _, times in terms.values()], np.int64)
    scores = bo1(counts, library.occurrences("own", hashes), library.totals("own")[0])
    best = [at for at in np.argsort(-scores, kind="stable")[:size] if scores[at] > 0]
    return {int(hashes[at]): (terms[int(hashes[at])][0], 1) for at in best}
