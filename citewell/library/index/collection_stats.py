"""The statistics of a library as a query may know them: as if the papers that it excludes were not there.

A draft that is in its own library would otherwise make its own words seem more common than they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from citewell.library.index.index import Index, Places, Segment
from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.ranking.request import Request

Numbers = npt.NDArray[np.int64]


class Visible:
    """What counts of the texts of each field."""

    def __init__(self, request: Request) -> None:
        self._index: Index = request.library.index
        self._excluded = [int(num) for num in request.excluded]

    def totals(self, field: str) -> tuple[int, float]:
        """How many papers have a text in this field, and its mean length."""
        texts, average = self._index.totals(field)
        left_out = [length for segment, at in self._speaking(field) if (length := int(segment.lengths[at])) > 0]
        if not left_out:
            return texts, average
        count = texts - len(left_out)
        return count, (texts * average - sum(left_out)) / count if count else 1.0

    def places(self, field: str, hashes: Numbers) -> dict[str, Places]:
        """Where the postings of these terms are, by the file of each segment."""
        return {segment.entry.file: segment.look_up(hashes) for segment in self._index.segments(field)}

    def holding(self, field: str, places: dict[str, Places], size: int) -> Numbers:
        """How many papers hold each of the terms that were looked up."""
        found = sum((place.counts for place in places.values()), np.zeros(size, np.int64))
        for segment, at in self._speaking(field):
            found = found - (self._frequencies(segment, places[segment.entry.file], at) > 0)
        return found

    def occurrences(self, field: str, hashes: Numbers) -> Numbers:
        """How often each term (by hash) occurs in all texts of a field."""
        found = self._index.occurrences(field, hashes)
        for segment, at in self._speaking(field):
            found = found - self._frequencies(segment, segment.look_up(hashes), at)
        return found

    def _speaking(self, field: str) -> list[tuple[Segment, int]]:
        """The segments that speak for the excluded papers, each with the place of the paper in it."""
        found = []
        for num in self._excluded:
            for segment in self._index.stack(field, num >> BLOCK_BITS):
                at = (num & (BLOCK - 1)) - segment.postings.first
                if 0 <= at < segment.postings.span and np.isfinite(segment.lengths[at]):
                    found.append((segment, at))
        return found

    def _frequencies(self, segment: Segment, places: Places, at: int) -> Numbers:
        wanted = np.array([at])
        return np.array([segment.frequencies(places, term, wanted)[0] for term in range(len(places.counts))], np.int64)
