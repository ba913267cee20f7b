"""The citation graph as a reader sees it: neighbours of many papers at once, straight from the mapped segments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from citewell.library.index.links import Links
from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.types import IntArray

Stacks = Mapping[tuple[str, int], list[Links]]
"""Direction and block to segments, oldest first."""


class Graph:
    """Citations in both directions."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks

    def neighbours(self, direction: str, papers: IntArray) -> tuple[IntArray, IntArray]:
        """The papers at the other end, one paper's after the other's, and how many each has."""
        counts = np.zeros(len(papers), np.int64)
        parts: list[tuple[IntArray, IntArray]] = []
        blocks = papers >> BLOCK_BITS
        for block in np.unique(blocks).tolist():
            here = np.flatnonzero(blocks == block)
            for links in reversed(self._stacks.get((direction, block), [])):
                sought = (papers[here] & (BLOCK - 1)).astype(np.uint16)
                at = np.searchsorted(links.papers, sought)
                at[at == len(links.papers)] = 0
                known = links.papers[at] == sought
                places, owners = at[known], here[known]
                starts = links.starts[places].astype(np.int64)
                sizes = links.starts[places + 1].astype(np.int64) - starts
                counts[owners] = sizes
                parts.append((np.repeat(owners, sizes), links.targets[_ranges(starts, sizes)].astype(np.int64)))
                here = here[~known]
                if not len(here):
                    break
        if not parts:
            return np.zeros(0, np.int64), counts
        owners = np.concatenate([owner for owner, _ in parts])
        targets = np.concatenate([target for _, target in parts])
        return (targets if len(parts) == 1 and _ascending(owners) else targets[np.argsort(owners, kind="stable")]), counts

    def blocks(self, direction: str) -> list[int]:
        """The blocks that have links."""
        return sorted(block for name, block in self._stacks if name == direction)

    def listed(self, direction: str, block: int) -> IntArray:
        """The papers of a block that some segment lists, with links or without."""
        papers = [links.papers.astype(np.int64) for links in self._stacks.get((direction, block), [])]
        return np.unique(np.concatenate(papers)) + (block << BLOCK_BITS) if papers else np.zeros(0, np.int64)

    def degrees(self, direction: str, papers: IntArray) -> IntArray:
        """How many links each paper has."""
        return self.neighbours(direction, papers)[1]


def _ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """The numbers of all ranges, one range after the other."""
    ends = np.cumsum(sizes)
    numbers: IntArray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    return numbers


def _ascending(numbers: IntArray) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())
