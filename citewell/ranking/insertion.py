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
    stay = len(others) if window is None else min(len(others), max(0, window - len(new)))
    kept, rest = others[:stay], others[stay:]
    lowest = ranking.scores[kept[-1]] if stay else ranking.scores[others[0]] if len(others) else np.float32(0)
    return ranking._replace(
        papers=np.concatenate([ranking.papers[kept], new, ranking.papers[rest]]),
        scores=np.concatenate(
            [ranking.scores[kept], np.full(len(new), np.nextafter(lowest, np.float32(-np.inf))), ranking.scores[rest]]
        ).astype(np.float32),
    )
