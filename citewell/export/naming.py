"""Citation keys, and the parts of dates."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.papers import OTHERS, Name, Paper
from citewell.text.fold import ascii_letters

_NOT_IN_KEY = re.compile(r"[\s,{}=\"#%~\\\x00-\x1f]+")
_WORD = re.compile(r"[^\W\d_]+")
_SMALL_WORDS = frozenset(
    "a an and as at by for from how in into is of on or the to towards toward via what when where why with".split()
)
_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)


def date_parts(paper: Paper) -> list[int]:
    """Year, month and day of `paper`, as far as known."""
    dated = _DATE.fullmatch(paper.date)
    if dated and (not paper.year or int(dated[1]) == paper.year):
        return [int(part) for part in dated.groups() if part]
    return [paper.year] if paper.year else []


class Citekeys:
    """Gives each paper a unique key: its own if it has one, else one like ``vaswani2017attention``."""

    def __init__(self, taken: Iterable[str] = (), reserved: Iterable[str] = ()) -> None:
        """`taken` keys are in use; `reserved` ones are those of papers to come, which no other paper gets."""
        # BibTeX treats keys that differ only in case as equal.
        self._times: dict[str, int] = {key.lower(): 0 for key in taken}
        self._reserved = {key.lower() for key in reserved}

    def key(self, paper: Paper) -> str:
        own = _NOT_IN_KEY.sub("", paper.extra.get("citekey", ""))
        key = base = own or _new_key(paper)
        while key.lower() in self._times or (key.lower() in self._reserved and key != own):
            self._times[base.lower()] = times = self._times.get(base.lower(), 0) + 1
            key = f"{base}{_letters(times)}"
        self._times[key.lower()] = 0
        return key


def _new_key(paper: Paper) -> str:
    first = next((author for author in paper.authors if author != OTHERS), Name(literal="anonymous"))
    family = first.literal.rpartition(" ")[2] or first.particle + first.family
    words = _WORD.findall(ascii_letters(paper.title))
    word = next((each for each in words if each not in _SMALL_WORDS), "")
    return f"{''.join(_WORD.findall(ascii_letters(family))) or 'anonymous'}{paper.year or ''}{word}"


def _letters(number: int) -> str:
    """1, 2, ... 26, 27 as a, b, ... z, za."""
    return "z" * ((number - 1) // 26) + chr(ord("a") + (number - 1) % 26)
