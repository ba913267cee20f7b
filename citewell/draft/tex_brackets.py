"""The structure of LaTeX: matching braces, options in brackets, environments. Nothing here recurses."""

from __future__ import annotations

import re
from bisect import bisect_left

from citewell.draft.tex_expand import braces

BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_SPACE = re.compile(r"\s*")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\\\n]{1,60})\}")
_MAX_OPTION = 600
_STOP = {sign: re.compile(rf"\\.|[{{{re.escape(sign)}]|\n[ \t\r]*\n", re.DOTALL) for sign in "]>)"}


class Brackets:
    """The matching braces of a text, and the extent of the options and arguments of a command."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._signs: dict[str, list[int]] = {}
        self.braces = braces(text)
        """For each opening brace, the offset of its closing brace."""

    def arguments(self, at: int, count: int) -> int:
        """The end of `count` arguments and the options between them."""
        end = self.options(at)
        for number in range(1, count + 1):
            close = self.braces.get(end, -1)
            if close < 0:
                return end if end > at and self._text[end - 1] in "]>)" else at
            at = close + 1
            end = self.options(at) if self._text.startswith("[", at) else at
            if number < count:
                end = self.after_space(end)
        return at if count else end

    def options(self, at: int, cited: bool = False) -> int:
        """The end of the options in brackets, and of the space before an argument where one follows; else `at`."""
        end = at
        while True:
            begin = self.after_space(end)
            opening = self._text[begin : begin + 1]
            closing = {"[": "]", "<": ">" if cited else "", "(": ")" if cited else ""}.get(opening)
            close = self.closing(begin + 1, closing) if closing else -1
            if close < 0:
                return begin if opening == "{" else end
            end = close + 1

    def closing(self, at: int, sign: str) -> int:
        """The offset of the closing bracket `sign` after `at`, skipping braces; -1 where there is none nearby."""
        last = min(len(self._text), at + _MAX_OPTION)
        signs = self._closing_signs(sign)
        if bisect_left(signs, at) == bisect_left(signs, last):
            return -1
        while match := _STOP[sign].search(self._text, at, last):
            at = match.start()
            if match[0] == sign:
                return at
            if match[0][0] == "\n":
                return -1
            at = self.braces.get(at, at) + 1 if match[0] == "{" else match.end()
        return -1

    def _closing_signs(self, sign: str) -> list[int]:
        """The offsets of all closing brackets `sign`."""
        if sign not in self._signs:
            self._signs[sign] = [match.start() for match in re.finditer(re.escape(sign), self._text)]
        return self._signs[sign]

    def after_space(self, at: int) -> int:
        """The end of the space at `at`, unless a paragraph ends in it."""
        space = _SPACE.match(self._text, at)
        assert space is not None, "the pattern matches the empty string"
        return at if BLANK_LINE.search(self._text, at, space.end()) else space.end()

    def inside(self, at: int) -> str:
        """The content of the braces at `at`, after optional space; empty where there are none."""
        at = self.after_space(at)
        close = self.braces.get(at, -1)
        return self._text[at + 1 : close] if close > 0 else ""


def environments(text: str) -> dict[int, int]:
    """For each ``\\begin`` that has an ``\\end``, the offset of the latter."""
    open_environments: dict[str, list[int]] = {}
    pairs = {}
    for match in _ENVIRONMENT.finditer(text):
        if match[1] == "begin":
            open_environments.setdefault(match[2], []).append(match.start())
        elif open_environments.get(match[2]):
            pairs[open_environments[match[2]].pop()] = match.start()
    return pairs
