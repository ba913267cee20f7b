"""What a retrieval stage is handed: the library, the query, and which papers may be found at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from citewell.library.library import Library
from citewell.library.postings import BLOCK, BLOCK_BITS
from citewell.papers import Query

Mask = npt.NDArray[np.bool_]


@dataclass
class Request:
    """One query put to one library."""

    library: Library
    query: Query

    def allowed(self, block: int) -> Mask | None:
        """Which numbers of a block may be found; None where all may."""
        query = self.query
        if query.since is None and query.before is None and self._only is None and not len(self._excluded):
            return None
        mask = np.ones(BLOCK, bool)
        if query.since is not None or query.before is not None:
            years = self.library.index.dates(block) // 10_000
            mask &= years >= max(1, query.since or 1)
            if query.before is not None:
                mask &= years < query.before
        if self._only is not None:
            mask &= np.isin(np.arange(BLOCK), self._only[self._only >> BLOCK_BITS == block] & (BLOCK - 1))
        mask[self._excluded[self._excluded >> BLOCK_BITS == block] & (BLOCK - 1)] = False
        return mask

    @cached_property
    def _excluded(self) -> npt.NDArray[np.int64]:
        """The numbers of the papers to leave out; a name that the library does not know excludes nothing."""
        found = [self.library.store.find(name) for name in self.query.exclude]
        return np.array([num for num in found if num is not None], np.int64)

    @cached_property
    def _only(self) -> npt.NDArray[np.int64] | None:
        return self.library.store.venue(self.query.venue) if self.query.venue else None
