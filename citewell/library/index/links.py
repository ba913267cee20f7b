"""Links: whom a paper cites and who cites it, as segments like those of postings.

A segment has, for some papers of one block, the numbers of the papers at the other end of their citations, in one direction.
Segments of the same direction and block form a stack: the newest one that lists a paper has its current entry. A paper that
was removed, or has lost its links, is listed with none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.types import IntArray

DIRECTIONS = ("cites", "cited_by")
"""From a paper to those it cites; from a paper to those that cite it."""
BITS = {"cites": 8, "cited_by": 16}
"""How the store notes which links of a paper are out of date, next to the bits of its fields."""


class Links(NamedTuple):
    """One segment's arrays."""

    papers: npt.NDArray[np.uint16]
    """The papers that this segment lists, as numbers within the block, ascending."""
    starts: npt.NDArray[np.uint32]
    """Where the links of each paper begin, and the end of the last."""
    targets: npt.NDArray[np.int32]
    """The papers at the other end, by number in the library, ascending for each paper."""


def build(papers: IntArray, counts: IntArray, targets: IntArray) -> Links:
    """Links of papers whose targets stand one paper after the other."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Links(papers.astype(np.uint16), starts.astype(np.uint32), targets.astype(np.int32))


def merge(stack: Sequence[Links], keep_empty: bool) -> Links | None:
    """One segment with the current entries of a stack (oldest first); `keep_empty` also lists papers without links."""
    papers = np.concatenate([links.papers for links in stack])
    level = np.repeat(np.arange(len(stack)), [len(links.papers) for links in stack])
    place = np.concatenate([np.arange(len(links.papers)) for links in stack])
    order = np.lexsort((level, papers))
    newest = order[np.append(papers[order][1:] != papers[order][:-1], True)]
    counts = np.concatenate([np.diff(links.starts.astype(np.int64)) for links in stack])
    if not keep_empty:
        newest = newest[counts[newest] > 0]
    if not len(newest):
        return None
    spans = [stack[level[at]].targets[stack[level[at]].starts[place[at]] :][: counts[at]] for at in newest.tolist()]
    return build(papers[newest].astype(np.int64), counts[newest], np.concatenate(spans))
