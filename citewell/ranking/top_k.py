"""The best papers of scores that come block by block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from citewell.library.index.postings import BLOCK
from citewell.papers import Ranking


class Best:
    """Collects the `size` highest positive scores; ties go to the lower number.

    A block's own `size`-th score bounds the final one from below, so that little more than `size` papers of a block are ever
    copied, and the selection itself is numpy's.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._bar = np.float32(0)
        self._papers: list[npt.NDArray[np.int64]] = []
        self._scores: list[npt.NDArray[np.float32]] = []

    def offer(self, block: int, scores: npt.NDArray[np.float32]) -> None:
        """Consider every number of a block."""
        # Most numbers of a small library score 0, and among many equal ones numpy's selection takes ten times as long.
        positive = scores[scores > 0]
        if len(positive) > self._size:
            place = len(positive) - self._size
            self._bar = max(self._bar, np.partition(positive, place)[place])
        found = np.flatnonzero(scores >= self._bar) if self._bar > 0 else np.flatnonzero(scores > 0)
        self._papers.append(found + block * BLOCK)
        self._scores.append(scores[found])

    def ranking(self) -> Ranking:
        """The best of all blocks, best first."""
        if not self._papers:
            return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
        papers, scores = np.concatenate(self._papers), np.concatenate(self._scores)
        if len(scores) > self._size:
            place = len(scores) - self._size
            near = scores >= np.partition(scores, place)[place]
            papers, scores = papers[near], scores[near]
        order = np.lexsort((papers, -scores))[: self._size]
        return Ranking(papers[order], scores[order])


def best_first(papers: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], size: int) -> Ranking:
    """The `size` papers with the highest scores above 0; of equal ones the lower number first."""
    order = np.lexsort((papers, -scores))[:size]
    order = order[scores[order] > 0]
    return Ranking(papers[order], scores[order].astype(np.float32))


def before_the_rest(papers: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], rest: npt.NDArray[np.int64]) -> Ranking:
    """Papers by their scores, of equal ones the lower number first; then others in the order in which they come."""
    order = np.lexsort((papers, -scores))
    tail = float(scores.min(initial=0.0)) - 1.0 - np.arange(len(rest)) / max(1, len(rest))
    found = np.concatenate([scores[order], tail])
    # No score is below 0.
    return Ranking(np.concatenate([papers[order], rest]), (found - found.min(initial=0.0) + 1e-3).astype(np.float32))


def first_of_each(papers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Each paper once, in the order in which they come."""
    _, first = np.unique(papers, return_index=True)
    return papers[np.sort(first)]
