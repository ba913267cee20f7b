"""Text made from a Word file that knows where each of its characters comes from, so that a citation can be written back.

The texts of a Word file (its ``w:t`` elements) are numbered through in document order, part by part; one character has one
offset in this sequence. `Offsets` finds the element of an offset.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

_WORD = re.compile(r"\S+")


@dataclass(slots=True)
class WordText:
    """A text, and for each character the span of the Word file it comes from; -1 for characters that the reader added."""

    text: str = ""
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @classmethod
    def added(cls, text: str) -> WordText:
        """Characters that are not in the Word file."""
        return cls(text, [-1] * len(text), [-1] * len(text))

    @classmethod
    def at(cls, text: str, begin: int) -> WordText:
        """Characters that are in the Word file from `begin` on."""
        return cls(text, list(range(begin, begin + len(text))), list(range(begin + 1, begin + len(text) + 1)))

    @classmethod
    def joined(cls, pieces: Iterable[WordText]) -> WordText:
        """The pieces as one text."""
        whole = cls()
        texts = []
        for piece in pieces:
            texts.append(piece.text)
            whole.begins.extend(piece.begins)
            whole.ends.extend(piece.ends)
        whole.text = "".join(texts)
        return whole

    def __len__(self) -> int:
        return len(self.text)

    def cut(self, begin: int, end: int | None = None) -> WordText:
        """The characters from `begin` to `end`."""
        return WordText(self.text[begin:end], self.begins[begin:end], self.ends[begin:end])

    def replaced(self, begin: int, end: int, text: str) -> WordText:
        """`text`, every character of which comes from all that ``self[begin:end]`` comes from."""
        origins = [at for at in self.begins[begin:end] if at >= 0]
        if not origins:
            return WordText.added(text)
        last = max(self.ends[begin:end])
        return WordText(text, [min(origins)] * len(text), [last] * len(text))

    def escaped(self, special: re.Pattern[str]) -> WordText:
        """The text with a backslash before each character that `special` matches."""
        pieces, at = [], 0
        for match in special.finditer(self.text):
            pieces += [self.cut(at, match.start()), WordText.added("\\")]
            at = match.start()
        return WordText.joined([*pieces, self.cut(at)]) if pieces else self

    def on_one_line(self) -> WordText:
        """The text with single spaces between its words and none around it."""
        pieces: list[WordText] = []
        for word in _WORD.finditer(self.text):
            if pieces:
                before = word.start() - 1
                pieces.append(WordText(" ", [self.begins[before]], [self.ends[before]]))
            pieces.append(self.cut(*word.span()))
        return WordText.joined(pieces)


class TextElement(NamedTuple):
    """A text element of a Word file: the name of its part, and its number among the text elements of the part."""

    part: str
    number: int


class Offsets:
    """The offset of each text element of a Word file, and back."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._elements: list[TextElement] = []
        self._end = 0

    def add(self, element: TextElement, size: int) -> int:
        """The offset of the next element, which has `size` characters."""
        start = self._end
        self._starts.append(start)
        self._elements.append(element)
        self._end += size + 1  # an offset after the last character of an element is not the first of the next one
        return start

    def find(self, offset: int) -> tuple[TextElement, int]:
        """The element that has an offset, and the character in it."""
        at = bisect_right(self._starts, offset) - 1
        return self._elements[at], offset - self._starts[at]
