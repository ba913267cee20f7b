"""The compiled sweep of collapsed Gibbs sampling; `citewell.train.lda_gibbs` explains it.

Random numbers come from SplitMix64, whose state is a parameter: the same state gives the same topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from citewell.train.corpus import WordIds
from citewell.types import Float64Array, IntArray

State = npt.NDArray[np.uint64]


def _compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as machine code, cached on disk if possible."""
    # Only the order of sums may change: without that they are not vectorised.
    try:
        return njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})(step)
    except RuntimeError:  # neither the package's folder nor the user's is writable
        return njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})(step)


@_compiled
def uniform(state: State) -> float:
    """A random number from 0 to 1, without 1; advances the state."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@_compiled
def sweep(
    first: int,
    last: int,
    words: WordIds,
    starts: IntArray,
    topics: WordIds,
    word_counts: WordIds,
    totals: IntArray,
    alpha: Float64Array,
    beta: float,
    state: State,
) -> None:
    """Draw a new topic for every word of the papers from `first` to before `last`, and keep the counts."""
    size = len(alpha)
    spread = beta * len(word_counts)
    paper_counts = np.empty(size, np.float64)
    inverse = np.empty(size, np.float64)
    weights = np.empty(size, np.float64)
    for topic in range(size):
        inverse[topic] = 1.0 / (totals[topic] + spread)
    for paper in range(first, last):
        paper_counts[:] = alpha
        for at in range(starts[paper], starts[paper + 1]):
            paper_counts[topics[at]] += 1.0
        for at in range(starts[paper], starts[paper + 1]):
            row = word_counts[words[at]]
            topic = topics[at]
            paper_counts[topic] -= 1.0
            row[topic] -= 1
            totals[topic] -= 1
            inverse[topic] = 1.0 / (totals[topic] + spread)
            whole = 0.0
            for each in range(size):
                weight = paper_counts[each] * (row[each] + beta) * inverse[each]
                weights[each] = weight
                whole += weight
            left = uniform(state) * whole
            topic = 0
            while topic < size - 1:
                left -= weights[topic]
                if left < 0.0:
                    break
                topic += 1
            topics[at] = topic
            paper_counts[topic] += 1.0
            row[topic] += 1
            totals[topic] += 1
            inverse[topic] = 1.0 / (totals[topic] + spread)
