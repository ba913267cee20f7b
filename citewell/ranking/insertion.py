"""Puts papers among the candidates that a re-ranker reads, although retrieval missed them.

Studies that measure a re-ranker alone do so with the relevant papers. The number of candidates stays: the last ones make room.
"""

from __future__ import annotations

import numpy as np

from citewell.papers import Ranking
from citewell.types import PaperNumbers


def missing(ranking: Ranking, papers: PaperNumbers, window: int | None) -> PaperNumbers:
    """Those of `papers` that are not among the first `window` of a ranking; of all of it, if it has no window."""
    return papers[~np.isin(papers, ranking.papers[:window])]


def insert(ranking: Ranking, papers: PaperNumbers, window: int | None) -> Ranking:
    """The ranking with `papers` at the last places of its first `window`, or at its end if it is shorter."""
    new = missing(ranking, papers, window)
    if not len(new):
        return ranking
    others = np.flatnonzero(~np.isin(ranking.papers, new))
    inside = others if window is None else others[:window]
    too_many = 0 if window is None else max(0, len(inside) + len(new) - window)
    # Those that make room are the last ones, and only then those that are to be inserted themselves.
    evicted = inside[np.lexsort((-inside, np.isin(ranking.papers[inside], papers)))[:too_many]]
    kept = inside[~np.isin(inside, evicted)]
    rest = others[~np.isin(others, kept)]
    lowest = ranking.scores[kept[-1]] if len(kept) else ranking.scores[:1].max(initial=0)
    scores = np.concatenate([ranking.scores[kept], np.full(len(new), lowest), ranking.scores[rest]])
    return ranking._replace(
        papers=np.concatenate([ranking.papers[kept], new, ranking.papers[rest]]),
        scores=np.minimum.accumulate(scores).astype(np.float32),
    )
