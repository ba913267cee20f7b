"""Collection statistics for one query: numbers of texts, mean lengths and document frequencies, without the excluded papers.

A draft that is in its own library would otherwise make its own words seem more common than they are.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from citewell.library.index.index import Index, Segment
from citewell.library.index.lookup import Places
from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.types import IntArray


class CollectionStats:
    """The statistics of each field of an index, as if the `excluded` papers were not in it."""

    def __init__(self, index: Index, excluded: Iterable[int] = ()) -> None:
        self._index = index
        self._excluded = [int(num) for num in excluded]

    def totals(self, field: str) -> tuple[int, float]:
        """The number of papers that have a text in this field, and the mean length of those texts."""
        texts, average = self._index.totals(field)
        lengths = [length for segment, at in self._entries(field) if (length := int(segment.lengths[at])) > 0]
        if not lengths:
            return texts, average
        count = texts - len(lengths)
        return count, (texts * average - sum(lengths)) / count if count else 1.0

    def places(self, field: str, hashes: IntArray) -> dict[str, Places]:
        """Where the postings of these terms are, by the file name of each segment."""
        return {segment.entry.file: segment.look_up(hashes) for segment in self._index.segments(field)}

    def document_frequencies(self, field: str, places: dict[str, Places], size: int) -> IntArray:
        """The number of papers that contain each of the `size` terms that were looked up."""
        counts = np.zeros(size, np.int64)
        for place in places.values():
            counts += place.counts
        for segment, at in self._entries(field):
            counts -= self._frequencies(segment, places[segment.entry.file], at) > 0
        return counts

    def occurrences(self, field: str, hashes: IntArray) -> IntArray:
        """The number of occurrences of each term (by hash) in all texts of a field."""
        counts = self._index.occurrences(field, hashes)
        for segment, at in self._entries(field):
            counts = counts - self._frequencies(segment, segment.look_up(hashes), at)
        return counts

    def _entries(self, field: str) -> list[tuple[Segment, int]]:
        """The current entry of each excluded paper: its segment, and its distance from the segment's first paper."""
        entries = []
        for num in self._excluded:
            for segment in self._index.stack(field, num >> BLOCK_BITS):
                at = (num & (BLOCK - 1)) - segment.postings.first
                if 0 <= at < segment.postings.span and np.isfinite(segment.lengths[at]):
                    entries.append((segment, at))
        return entries

    def _frequencies(self, segment: Segment, places: Places, at: int) -> IntArray:
        docs = np.array([at])
        return np.array([segment.frequencies(places, term, docs)[0] for term in range(len(places.counts))], np.int64)
