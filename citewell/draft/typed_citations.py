"""Finds citations that are typed as text, "(Berg et al., 1931)" or "[3]", and their entries in the reference list.

A citation whose entry is found becomes a citation with a key. The others stay text and are named in a note: nothing is guessed.
Numbers count as citations only where the reference list is numbered; in round brackets or as superscripts, only where they
cover a good part of the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from citewell.draft.markdown import at_key
from citewell.draft.typed_references import TypedReference, parse_reference, reference_list
from citewell.papers import Paper
from citewell.text.fold import folded

__all__ = ["SUPERSCRIPT", "TypedCitations", "has_typed_citation", "reference_list"]

SUPERSCRIPT = ("\ue000", "\ue001")
"""What a reader puts around numbers in superscript."""
_PARTICLE = r"(?:[Vv]an|[Vv]on|[Dd]e|[Dd]er|[Dd]en|[Dd]i|[Dd]el|[Ll]a|[Ll]e|ter|ten|zu)"
_NAME = rf"(?:{_PARTICLE}\s){{0,3}}[^\W\d_a-z][\w'\u2019\u2010-]{{1,40}}"
_AND = r"(?:,\s|\s(?:and|&|und|et|y)\s|,\s(?:and|&)\s)"
_NAMES = rf"{_NAME}(?:{_AND}{_NAME}){{0,6}}(?:,?\s(?:et|u\.)\sal\b\.?|\sand\scolleagues)?"
_YEARS = r"(?:1[5-9]|20)\d\d[a-z]?(?:\s?[,&]\s?(?:(?:1[5-9]|20)\d\d[a-z]?|[a-z]\b)){0,6}"
_NARRATIVE = rf"(?P<narrative>(?<!\w){_NAMES})(?:'s|\u2019s)?\s\((?P<years>{_YEARS})(?P<locator>[,:]\s[^()]{{1,40}})?\)"
_BRACKET = r"\((?P<inside>[^()]{5,600})\)"
_AUTHOR_YEAR = re.compile(f"{_NARRATIVE}|{_BRACKET}")
_PART = re.compile(
    rf"(?P<prefix>(?:[^;]{{0,60}}?[\s,])??)(?P<names>{_NAMES}),?\s(?P<years>{_YEARS})(?P<locator>(?:[,:]\s?[^;]{{0,60}})?)"
)
_YEAR = re.compile(f"{_NARRATIVE}|{_BRACKET}")
_PART = re.compile(
    rf"(?P<prefix>(?:[^;]{{0,60}}?[\s,])??)(?P<names>{_NAMES}),?\s(?P<years>{_YEARS})(?P<locator>(?:[,:]\s?[^;]{{0,60}})?)"
)
_YEAR = re.compile(r"((?:1[5-9]|20)\d\d)?([a-z]?)")
_NAME_WORD = re.compile(r"[^\W\d_](?:[\w'\u2019\u2010-]*[^\W\d_])+")
_NOT_NAMES = frozenset("and und et al colleagues van von de der den di del la le ter ten zu".split())
_LIST = r"\d{1,3}(?:\s?[,;\u2013\u2012-]\s?\d{1,3}){0,20}"
_NUMBERED = {
    "[]": re.compile(rf"\[({_LIST})\]"),
    "()": re.compile(rf"\(({_LIST})\)"),
    "superscript": re.compile(rf"{SUPERSCRIPT[0]}\s?({_LIST}),?\s?{SUPERSCRIPT[1]}"),
}
_RANGE = re.compile(r"(\d{1,3})(?:\s?[\u2013\u2012-]\s?(\d{1,3}))?")
_MIN_COVERED = 0.3
"""The part of a numbered list that numbers in round brackets or superscripts must cite."""
_FIRST_WORDS = 3
"""The first name of a citation is among the first words of its entry: "von der Berg A"."""
_MAX_NAMED = 5


def has_typed_citation(text: str) -> bool:
    """Whether a text has something that looks like a citation with author and year, or a number in square brackets."""
    return bool(_NUMBERED["[]"].search(text)) or any(_is_citation(match) for match in _AUTHOR_YEAR.finditer(text))


class TypedCitations:
    """The citations that a document has as text, resolved by its reference list."""

    def __init__(self, references: Sequence[str], key: Callable[[Paper], str]) -> None:
        """`references` are the blocks of the reference list; `key` gives a work its citation key."""
        self.keys: list[str] = []
        """The key of each block of the reference list; empty where the block is not an entry."""
        self.is_labelled = False
        """Whether the entries have typed numbers."""
        self._by_number: dict[int, str] = {}
        self._by_year: dict[int, list[tuple[TypedReference, str]]] = {}
        self._style = ""
        self._unknown: dict[str, None] = {}
        number = 0
        for block in references:
            entry = parse_reference(block, number + 1)
            self.keys.append(name := key(entry.paper) if entry else "")
            if entry is None:
                continue
            number += 1
            if entry.is_labelled or block.startswith("- "):
                self._by_number.setdefault(entry.number, name)
                self.is_labelled |= entry.is_labelled
            if entry.paper.year is not None:
                self._by_year.setdefault(entry.paper.year, []).append((entry, name))

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each entry of a numbered list, by key."""
        return {key: number for number, key in self._by_number.items()}

    @property
    def brackets(self) -> str:
        """The brackets around numbers that are citations; empty where citations are not numbers."""
        return "[]" if self._style == "superscript" else self._style

    def choose_style(self, blocks: Sequence[str]) -> None:
        """Decide from the whole text which numbers are citations."""
        for style, pattern in _NUMBERED.items() if self._by_number else ():
            matches = (match for block in blocks if _is_text(block) for match in pattern.finditer(block))
            numbers = {number for match in matches for number in _numbers(match[1])}
            covered = len(numbers & self._by_number.keys())
            if covered and (style == "[]" or covered >= _MIN_COVERED * len(self._by_number)):
                self._style = style
                return

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The begin, the end and the Markdown of each citation in a block whose work is known, in order."""
        last = 0
        for begin, end, citation in sorted([*self._numbered(text), *self._author_year(text)]):
            if begin >= last:
                yield begin, end, citation
                last = end

    def notes(self) -> list[str]:
        """What could not be resolved, in one line."""
        if not self._unknown:
            return []
        some = ", ".join(list(self._unknown)[:_MAX_NAMED]) + (" ..." if len(self._unknown) > _MAX_NAMED else "")
        are = "citations are" if len(self._unknown) != 1 else "citation is"
        if not any(self.keys):
            return [f"{len(self._unknown)} {are} typed as text, and there is no reference list to look them up in: {some}"]
        return [f"{len(self._unknown)} {are} typed as text and not in the reference list: {some}"]

    def _numbered(self, text: str) -> Iterator[tuple[int, int, str]]:
        if not self._style or not _is_text(text):
            return
        for match in _NUMBERED[self._style].finditer(text):
            numbers = _numbers(match[1])
            keys = [self._by_number[number] for number in numbers if number in self._by_number]
            if numbers and len(keys) == len(numbers):
                space = " " if self._style == "superscript" and not text[: match.start()].endswith(" ") else ""
                yield *match.span(), space + _group(keys)
            elif self._style == "[]":
                self._unknown[match[0]] = None

    def _author_year(self, text: str) -> Iterator[tuple[int, int, str]]:
        for match in _AUTHOR_YEAR.finditer(text):
            if match["narrative"]:
                keys = self._named(match["narrative"], match["years"])
                if keys:
                    others = f" {_group(keys[1:])}" if keys[1:] else ""
                    yield *match.span(), at_key(keys[0]) + others
                else:
                    self._unknown[match[0]] = None
            elif (citation := self._bracket(match)) is not None:
                yield *match.span(), citation

    def _bracket(self, match: re.Match[str]) -> str | None:
        """A citation in brackets as Markdown; None where the brackets cite nothing that is known."""
        parts, known = [], False
        for part in match["inside"].split(";"):
            cited = _PART.fullmatch(part.strip())
            keys = self._named(cited["names"], cited["years"]) if cited else []
            if cited and keys:
                known = True
                parts.append(f"{cited['prefix']}{'; '.join(map(at_key, keys))}{cited['locator']}")
            else:
                parts.append(part.strip())
                if cited and not cited["prefix"]:
                    self._unknown[f"({part.strip()})"] = None
        return f"[{'; '.join(parts)}]" if known else None

    def _named(self, names: str, years: str) -> list[str]:
        """The keys of the works of some authors, one for each year; empty where one of them is not in the list."""
        words = [folded(word) for word in _NAME_WORD.findall(names)]
        words = [word for word in words if word not in _NOT_NAMES]
        keys, year = [], 0
        for part in re.split(r"\s?[,&]\s?", years):
            dated = _YEAR.fullmatch(part)
            year = int(dated[1]) if dated and dated[1] else year
            key = self._one(words, year, dated[2] if dated else "")
            if not key:
                return []
            keys.append(key)
        return keys

    def _one(self, words: list[str], year: int, suffix: str) -> str:
        fitting = [
            (entry, key)
            for entry, key in self._by_year.get(year, ())
            if words and words[0] in entry.names[:_FIRST_WORDS] and set(words) <= set(entry.names)
        ]
        exact = [(entry, key) for entry, key in fitting if entry.suffix == suffix] or (fitting if not suffix else [])
        best = min(exact, key=lambda item: (item[0].names.index(words[0]), abs(len(item[0].names) - len(words))), default=None)
        return best[1] if best else ""


def _is_citation(match: re.Match[str]) -> bool:
    inside = match["inside"]
    return bool(match["narrative"]) or any(_PART.fullmatch(part.strip()) for part in inside.split(";"))


def _is_text(block: str) -> bool:
    """Whether a block may cite by numbers: affiliations and tables have numbers of other kinds."""
    return not block.startswith(("#", "|")) and block.rstrip().endswith((".", "!", "?", ")", "]", ":", SUPERSCRIPT[1]))


def _numbers(written: str) -> list[int]:
    numbers: list[int] = []
    for match in _RANGE.finditer(written):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1) if first <= last < first + 100 else [first, last]
    return numbers


def _group(keys: Sequence[str]) -> str:
    return f"[{'; '.join(map(at_key, keys))}]"
