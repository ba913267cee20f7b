"""What a retrieval stage is handed: the library, the query, and which papers may be found at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from citewell.library.index.postings import BLOCK, BLOCK_BITS
from citewell.library.library import Library
from citewell.papers import Query

Mask = npt.NDArray[np.bool_]
Known = TypeVar("Known")


@dataclass
class Request:
    """One query put to one library."""

    library: Library
    query: Query
    notes: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What stages remember of this query, so that a later stage, or a reason, need not work it out again."""

    def remember(self, name: str, work_out: Callable[[], Known]) -> Known:
        """What was noted under `name`, worked out the first time."""
        if name not in self.notes:
            self.notes[name] = work_out()
        known: Known = self.notes[name]
        return known

    def own(self, stage: object, make: Callable[[], Known]) -> Known:
        """What a stage keeps of this query for its reasons, made empty the first time; an equal stage elsewhere has its own."""
        # The stage is kept beside it, so that no other can come to have its id.
        return self.remember(f"of {id(stage)}", lambda: (stage, make()))[1]

    def may_find(self, papers: npt.NDArray[np.int64]) -> Mask:
        """Which of some papers may be found."""
        allowed = np.ones(len(papers), bool)
        for block in np.unique(papers >> BLOCK_BITS).tolist():
            mask = self.remember(f"allowed {block}", partial(self.allowed, block))
            if mask is not None:
                here = papers >> BLOCK_BITS == block
                allowed[here] = mask[papers[here] & (BLOCK - 1)]
        return allowed

    def allowed(self, block: int) -> Mask | None:
        """Which numbers of a block may be found; None where all may."""
        query = self.query
        if query.since is None and query.before is None and self._only is None and not len(self._barred):
            return None
        mask = np.ones(BLOCK, bool)
        if query.since is not None or query.before is not None:
            years = self.library.index.dates(block) // 10_000
            mask &= years >= max(1, query.since or 1)
            if query.before is not None:
                mask &= years < query.before
        if self._only is not None:
            mask &= np.isin(np.arange(BLOCK), self._only[self._only >> BLOCK_BITS == block] & (BLOCK - 1))
        mask[self._barred[self._barred >> BLOCK_BITS == block] & (BLOCK - 1)] = False
        return mask

    @cached_property
    def excluded(self) -> npt.NDArray[np.int64]:
        """The numbers of the papers to leave out; a name that the library does not know excludes nothing."""
        found = [self.library.store.find(name) for name in self.query.exclude]
        return np.array([num for num in found if num is not None], np.int64)

    def known(self) -> npt.NDArray[np.int64]:
        """The papers that the draft cites elsewhere."""
        found = [self.library.store.find(name) for name in self.query.known]
        return np.array([num for num in found if num is not None], np.int64)

    @cached_property
    def _barred(self) -> npt.NDArray[np.int64]:
        """The numbers of the papers that must not be found."""
        return np.concatenate((self.excluded, self.known())) if self.query.only_new else self.excluded

    @cached_property
    def _only(self) -> npt.NDArray[np.int64] | None:
        return self.library.store.venue(self.query.venue) if self.query.venue else None
