"""How near papers are to some others in the citation graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from citewell.collection.interface import Collection
from citewell.ranking.top_k import positions_in
from citewell.types import Float64Array, PaperNumbers

_BACK = {"cites": "cited_by", "cited_by": "cites"}


def linked_weight(
    collection: Collection, direction: str, starts: PaperNumbers, weights: Float64Array, papers: PaperNumbers
) -> Float64Array:
    """For each paper the sum of the weights of the starts that have a link to it."""
    targets, counts = collection.neighbours(direction, starts)
    return _summed(papers, targets, np.repeat(weights, counts))


def shared_neighbours(
    collection: Collection, there: str, back: str, starts: PaperNumbers, weights: Float64Array, papers: PaperNumbers
) -> Float64Array:
    """The weighted number of neighbours that each paper shares with the starts, itself excepted, by the root of its degree."""
    between, counts = collection.neighbours(there, starts)
    targets, spread = collection.neighbours(back, between)
    total = _summed(papers, targets, np.repeat(np.repeat(weights, counts), spread))
    total -= _summed(papers, starts, weights * counts)
    return np.asarray(total / np.sqrt(1.0 + collection.degrees(there, papers)), np.float64)


def path_counts(
    collection: Collection, path: Sequence[str], starts: PaperNumbers, papers: Iterable[int]
) -> dict[int, Counter[int]]:
    """For each of a few papers, the number of paths of links to it from each start other than itself."""
    counts = {}
    for paper in papers:
        # There are few papers, so following the links back from them is shorter.
        ends = np.array([paper], np.int64)
        for direction in reversed(path):
            ends, _ = collection.neighbours(_BACK[direction], ends)
        counts[paper] = Counter(ends[np.isin(ends, starts) & (ends != paper)].tolist())
    return counts


def _summed(papers: PaperNumbers, targets: PaperNumbers, weights: Float64Array) -> Float64Array:
    """For each paper the sum of the weights of the targets that are it."""
    positions, here = positions_in(papers, targets)
    return np.bincount(positions, weights=weights[here], minlength=len(papers)).astype(np.float64)
