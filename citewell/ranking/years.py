"""When papers appeared, and when a query is asked, as the library tells it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.ranking.request import Request

Numbers = npt.NDArray[np.int64]


def years_of(request: Request, papers: Numbers) -> Numbers:
    """The year of each paper, 0 where it is unknown."""
    found = np.zeros(len(papers), np.int64)
    for block in np.unique(papers >> BLOCK_BITS).tolist():
        here = papers >> BLOCK_BITS == block
        found[here] = request.library.index.dates(block)[papers[here] & (BLOCK - 1)] // 10_000
    return found


def newest_year(request: Request) -> int:
    """The year in which the query is asked, as far as can be told: that of the library's newest paper."""

    def work_out() -> int:
        index = request.library.index
        return max((int(index.dates(block).max()) // 10_000 for block in index.blocks), default=0)

    return request.remember("newest year", work_out)
