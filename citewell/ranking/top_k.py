"""Rankings made of papers and scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from citewell.papers import Ranking


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
