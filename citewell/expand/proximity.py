"""How near papers stand to some others in the citation graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from citewell.library.index.graph import Graph

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BACK = {"cites": "cited_by", "cited_by": "cites"}


def reached(graph: Graph, direction: str, starts: Numbers, weights: Floats, papers: Numbers) -> Floats:
    """The weights of those starts that have a link to each paper."""
    targets, counts = graph.neighbours(direction, starts)
    return _summed(papers, targets, np.repeat(weights, counts))


def beside(graph: Graph, there: str, back: str, starts: Numbers, weights: Floats, papers: Numbers) -> Floats:
    """How often each paper is linked to the same others as the starts, but for itself, for how often it is linked at all."""
    between, counts = graph.neighbours(there, starts)
    targets, spread = graph.neighbours(back, between)
    total = _summed(papers, targets, np.repeat(np.repeat(weights, counts), spread))
    total -= _summed(papers, starts, weights * counts)
    return np.asarray(total / np.sqrt(1.0 + graph.degrees(there, papers)), np.float64)


def ways(graph: Graph, path: Sequence[str], starts: Numbers, papers: Iterable[int]) -> dict[int, Counter[int]]:
    """For each of a few papers, in how many ways a path of links leads to it from each start but itself."""
    found = {}
    for paper in papers:
        # Few papers are asked for, so that it is shorter to go back from them.
        ends = np.array([paper], np.int64)
        for direction in reversed(path):
            ends, _ = graph.neighbours(_BACK[direction], ends)
        found[paper] = Counter(ends[np.isin(ends, starts) & (ends != paper)].tolist())
    return found


def places_of(papers: Numbers, targets: Numbers) -> tuple[Numbers, Mask]:
    """The places among the papers of those targets that are there, and which these are."""
    if not len(papers):
        return np.zeros(0, np.int64), np.zeros(len(targets), bool)
    order = np.argsort(papers)
    at = np.minimum(np.searchsorted(papers[order], targets), len(papers) - 1)
    here = papers[order[at]] == targets
    return order[at[here]], here


def _summed(papers: Numbers, targets: Numbers, weights: Floats) -> Floats:
    """For each paper the sum of the weights of the targets that are it."""
    places, here = places_of(papers, targets)
    return np.bincount(places, weights=weights[here], minlength=len(papers)).astype(np.float64)
