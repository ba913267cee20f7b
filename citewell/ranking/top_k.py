"""Making rankings of scored papers. Scores may be any float; NaN means that a paper has none and is left out."""

from __future__ import annotations

import numpy as np

from citewell.papers import Ranking
from citewell.types import Float32Array, Float64Array, IntArray, Mask, PaperNumbers


def rank(papers: PaperNumbers, scores: Float64Array | Float32Array, k: int | None = None) -> Ranking:
    """The `k` papers with the highest scores, all without a `k`; ties go to the lower number."""
    if (unscored := np.isnan(scores)).any():
        papers, scores = papers[~unscored], scores[~unscored]
    order = np.lexsort((papers, -scores))[:k]
    return Ranking(papers[order], scores[order].astype(np.float32))


def rank_first(papers: PaperNumbers, scores: Float64Array, rest: PaperNumbers, floor: float = 0.0) -> Ranking:
    """Re-ranked papers by their scores, followed by the rest in its order, with scores below all of theirs and the `floor`."""
    order = np.lexsort((papers, -scores))
    tail = float(scores.min(initial=floor)) - 1.0 - np.arange(len(rest)) / max(1, len(rest))
    return Ranking(np.concatenate([papers[order], rest]), np.concatenate([scores[order], tail]).astype(np.float32))


def below(ranking: Ranking) -> float:
    """A floor under all scores of a ranking."""
    return float(ranking.scores.min()) - 1e-3 if len(ranking.scores) else 0.0


def unique_in_order(papers: PaperNumbers) -> PaperNumbers:
    """Each paper once, in the order in which they come."""
    _, first = np.unique(papers, return_index=True)
    return papers[np.sort(first)]


def positions_in(papers: PaperNumbers, targets: PaperNumbers) -> tuple[IntArray, Mask]:
    """The positions in `papers` of those targets that are there, and a mask of which these are."""
    if not len(papers):
        return np.zeros(0, np.int64), np.zeros(len(targets), bool)
    order = np.argsort(papers)
    at = np.minimum(np.searchsorted(papers[order], targets), len(papers) - 1)
    here = papers[order[at]] == targets
    return order[at[here]], here
