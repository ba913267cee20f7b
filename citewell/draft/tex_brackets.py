"""What belongs together in LaTeX: braces, options in brackets, environments. Nothing here recurses."""

from __future__ import annotations

import re

from citewell.draft.tex_expand import braces

BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_SPACE = re.compile(r"\s*")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\\\n]{1,60})\}")
_LONGEST_OPTION = 600


class Brackets:
    """The braces of a text, and what stands between a command and the end of its arguments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.braces = braces(text)
        """For each brace that opens, where it closes."""

    def arguments(self, at: int, count: int) -> int:
        """Where `count` arguments and the options among them end."""
        end = self.options(at)
        for number in range(1, count + 1):
            close = self.braces.get(end, -1)
            if close < 0:
                return end if end > at and self._text[end - 1] in "]>)" else at
            at = close + 1
            end = self.options(at) if self._text.startswith("[", at) else at
            if number < count:
                end = self.spaced(end)
        return at if count else end

    def options(self, at: int, cited: bool = False) -> int:
        """Behind the options in brackets, and the space before an argument where one follows; else `at`."""
        end = at
        while True:
            behind = self.spaced(end)
            opening = self._text[behind : behind + 1]
            closing = {"[": "]", "<": ">" if cited else "", "(": ")" if cited else ""}.get(opening)
            close = self.closing(behind + 1, closing) if closing else -1
            if close < 0:
                return behind if opening == "{" else end
            end = close + 1

    def closing(self, at: int, sign: str) -> int:
        """Where the bracket that opened before `at` closes, braces passed over; -1 where it does not, or only far away."""
        last = min(len(self._text), at + _LONGEST_OPTION)
        while at < last:
            here = self._text[at]
            if here == sign:
                return at
            if here == "\n" and BLANK_LINE.match(self._text, at):
                return -1
            at = self.braces.get(at, at) + 1 if here == "{" else at + (2 if here == "\\" else 1)
        return -1

    def spaced(self, at: int) -> int:
        """Behind the space at `at`, unless a paragraph ends in it."""
        found = _SPACE.match(self._text, at)
        assert found is not None, "no space is space too"
        return at if BLANK_LINE.search(self._text, at, found.end()) else found.end()

    def inside(self, at: int) -> str:
        """What the braces at `at`, or behind the space there, hold; nothing where there are none."""
        at = self.spaced(at)
        close = self.braces.get(at, -1)
        return self._text[at + 1 : close] if close > 0 else ""


def environments(text: str) -> dict[int, int]:
    """For each ``\\begin`` that is ended the place of its ``\\end``."""
    waiting: dict[str, list[int]] = {}
    pairs = {}
    for found in _ENVIRONMENT.finditer(text):
        if found[1] == "begin":
            waiting.setdefault(found[2], []).append(found.start())
        elif waiting.get(found[2]):
            pairs[waiting[found[2]].pop()] = found.start()
    return pairs
