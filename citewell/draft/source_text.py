"""Text that knows where it comes from.

A reader turns a manuscript with its included files and expanded macros into one `SourceText`. For each character it records the
file and the span of that file that the character was made from, so that every citation and sentence has an exact place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from citewell.papers import Place

Offsets = npt.NDArray[np.int32]

_NEWLINE = re.compile("\n")


@dataclass
class SourceText:
    """A text, and the file and span that each of its characters comes from."""

    text: str
    files: Offsets
    """For each character, the index of its file in `names`."""
    begins: Offsets
    ends: Offsets
    names: list[str]
    sources: dict[str, str]
    unchanged: bool = False
    """Whether it is one file as it is, so that offsets in both are the same."""

    @classmethod
    def of(cls, text: str, name: str = "") -> SourceText:
        """One file, unchanged."""
        offsets = np.arange(len(text) + 1, dtype=np.int32)
        return cls(text, np.zeros(len(text), np.int32), offsets[:-1], offsets[1:], [name], {name: text}, True)

    def place(self, begin: int, end: int) -> Place:
        """Where ``text[begin:end]`` is in the sources; parts in another file than the first character's are left out."""
        if not self.text:
            return Place(self.names[0])
        if begin >= end:  # an empty span, after the character before it
            has_previous = begin > 0
            at = min(begin - has_previous, len(self.text) - 1)
            name, offset = self.names[self.files[at]], int(self.ends[at] if has_previous else self.begins[at])
            return Place(name, offset, offset, self._line(name, offset))
        if self.unchanged:
            return Place(self.names[0], begin, end, self._line(self.names[0], begin))
        file = self.files[begin]
        span = slice(begin, end)
        same_file = self.files[span] == file
        first, last = int(self.begins[span][same_file].min()), int(self.ends[span][same_file].max())
        name = self.names[file]
        return Place(name, first, last, self._line(name, first))

    @cached_property
    def _newlines(self) -> dict[str, list[int]]:
        return {name: [match.start() for match in _NEWLINE.finditer(text)] for name, text in self.sources.items()}

    def _line(self, name: str, offset: int) -> int:
        return bisect_right(self._newlines[name], offset - 1) + 1


@dataclass(slots=True)
class MappedText:
    """A piece of a `SourceText` under construction: a text, and the file number and span that each character comes from."""

    text: str
    files: Offsets
    begins: Offsets
    ends: Offsets

    @classmethod
    def of(cls, text: str, file: int) -> MappedText:
        """The file with this number, unchanged."""
        offsets = np.arange(len(text) + 1, dtype=np.int32)
        return cls(text, np.full(len(text), file, np.int32), offsets[:-1], offsets[1:])

    def cut(self, begin: int, end: int) -> MappedText:
        """The characters from `begin` to `end`."""
        span = slice(begin, end)
        return MappedText(self.text[span], self.files[span], self.begins[span], self.ends[span])

    def substitute(self, begin: int, end: int, text: str) -> MappedText:
        """`text`, every character of which comes from ``self[begin:end]``."""
        size = len(text)
        file, first, last = self.files[begin], self.begins[begin:end].min(), self.ends[begin:end].max()
        return MappedText(text, np.full(size, file, np.int32), np.full(size, first, np.int32), np.full(size, last, np.int32))


def concatenate(pieces: Sequence[MappedText]) -> MappedText:
    """The pieces as one text."""
    if not pieces:
        empty = np.zeros(0, np.int32)
        return MappedText("", empty, empty, empty)
    columns = [np.concatenate([getattr(each, name) for each in pieces]) for name in ("files", "begins", "ends")]
    return MappedText("".join(each.text for each in pieces), *columns)
