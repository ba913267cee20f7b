"""The entries of a BibTeX file, streamed, with abbreviations resolved; a bad entry does not affect the others.

This is our own parser because bibtexparser 2.1 reads 2,500 raw entries per second where this one reads 26,000 (files of ACM,
one run); with LaTeX and names converted it reads 100 and our reader 7,000. bibtexparser also needs the whole file in memory,
does not resolve ``#``, loses the field after a missing comma and rejects a repeated key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from citewell.papers import Problem, Remainder
from citewell.sources.clean import text
from citewell.sources.plain_text import chunks
from citewell.sources.source import InputError, Source

MAX_ENTRY = 16 * 1024 * 1024
_MAX_ABBREVIATION = 10_000
_MAX_EXPANDED = 100_000
_MAX_ABBREVIATIONS = 100_000
_MAX_COMMENT = 1024 * 1024
_MAX_WASTE = 16 * 1024 * 1024

_MONTHS = ("January February March April May June July August September October November December").split()
MONTHS = frozenset(name[:3].lower() for name in _MONTHS)
"""The abbreviations that every style defines."""
_GAP = r"\s*(?:%[^\n]*\n\s*)*"
_START = re.compile(r"@(?<![\w.]@)[ \t]*([A-Za-z][\w-]*)\s*([{(])")
_NEXT = re.compile(r"\n[ \t]*@")
_IN_KEY = r"[^\s,{}=\"#%]++"
_KEY = re.compile(rf"{_GAP}({_IN_KEY}(?:[ \t]++{_IN_KEY})*+(?=\s*,)|[^\s,{{}}=]*){_GAP}")
"""A key; Scopus writes some with spaces, as in ``De La Cruz2019``."""
_FIELD = re.compile(rf"{_GAP}([^\s=,{{}}()\"#%]+){_GAP}={_GAP}")
_PLAIN_FIELD = re.compile(rf"{_FIELD.pattern}(?:\{{([^{{}}]*)\}}|(\d+)|\"([^\"{{}}]*)\"){_GAP},")
_AFTER = re.compile(rf"{_GAP}([,#}})]?){_GAP}")
_CLOSE = {closer: re.compile(_GAP + re.escape(closer)) for closer in "})"}
_NOTHING = re.compile(rf"{_GAP}\Z")
_PLAIN_BRACED = re.compile(r"\{([^{}]*)\}")
_PLAIN_QUOTED = re.compile(r'"([^"{}]*)"')
_WORD = re.compile(r"[^\s\"#%'(),={}]+")
_NEW_ENTRY = r"\n[ \t]*@[A-Za-z]+[ \t]*[{(][^{}(),=\"\n]*[,=]"
_BRACE = re.compile(rf"[{{}}]|{_NEW_ENTRY}")
_BRACE_OR_QUOTE = re.compile(rf"[{{}}\"]|{_NEW_ENTRY}")
_ANY_BRACE = re.compile(r"[{}]")


@dataclass(slots=True)
class Entry:
    """One entry of the file, with field names in lower case."""

    type: str
    key: str
    """Empty if the entry has none, as in some files of JabRef and of web sites."""
    fields: dict[str, str]
    line: int
    text: str = ""
    """The entry exactly as the file has it."""
    lead: str = ""
    """What the file has between the previous entry and this one."""
    position: int = 0
    """The place of the entry among the entries of the file."""


class _BadEntryError(Exception):
    """An entry with a syntax error."""


class _CutOffError(Exception):
    """An entry that continues beyond the text in memory."""


def entries(source: Source) -> Iterator[Entry | Problem | Remainder]:
    """Every entry in order, and what follows the last one; a damaged entry is a `Problem` with its line and key.

    Abbreviations that neither the file nor `Source.abbreviations` defines are added to `Source.undefined`.
    """
    scanner = _Scanner(source.abbreviations)
    for chunk in chunks(source, exact=True):
        scanner.feed(chunk)
        yield from scanner.scan(last=False)
    yield from scanner.scan(last=True)
    source.undefined += scanner.undefined
    yield Remainder(scanner.lead())


class _Scanner:
    """Scans the text after the last complete entry."""

    def __init__(self, abbreviations: Mapping[str, str] = MappingProxyType({})) -> None:
        self.undefined: dict[str, None] = {}
        """The abbreviations that nothing defines."""
        self._text = ""
        self._at = 0
        self._line = 1
        self._needed = 0
        self._abbreviations = {**{name[:3].lower(): name for name in _MONTHS}, **abbreviations}
        self._expanded = 0
        self._reached = 0
        self._wasted = 0
        self._lead: list[str] = []
        self._count = 0

    def lead(self) -> str:
        """What has been passed over since the last entry."""
        lead = "".join(self._lead)
        self._lead = []
        return lead

    def abbreviations(self) -> dict[str, str]:
        """What is defined so far."""
        return {name: value for name, value in self._abbreviations.items() if name not in MONTHS}

    def feed(self, chunk: str) -> None:
        self._text = self._text[self._at :] + chunk
        self._at = 0

    def scan(self, last: bool) -> Iterator[Entry | Problem]:
        """The complete entries; an incomplete one waits for twice as much text, unless this is the `last` chunk."""
        if len(self._text) < self._needed and not last:
            return
        self._needed = 0
        following = -1
        while start := _START.search(self._text, self._at):
            self._move(start.start())
            if following < start.end():
                next_entry = _NEXT.search(self._text, start.end())
                following = next_entry.start() + 1 if next_entry else len(self._text)
            try:
                if following == len(self._text) and not last:
                    raise _CutOffError
                self._reached = start.end()
                entry, end = self._entry(start)
            except _CutOffError:
                if not last and len(self._text) - self._at < MAX_ENTRY:
                    self._needed = 2 * (len(self._text) - self._at)
                    return
                if start[1].lower() == "comment":
                    self._waste()
                    self._move(start.end())
                    continue
                yield self._problem(start, "not closed")
            except _BadEntryError as error:
                yield self._problem(start, str(error))
            else:
                if entry:
                    entry.text, entry.lead, entry.position = self._text[self._at : end], self.lead(), self._count
                    self._count += 1
                    self._line += entry.text.count("\n")
                    self._at = end
                    yield entry
                else:
                    self._move(end)
                continue
            self._waste()
            self._move(following)
        if last or len(self._text) - self._at > MAX_ENTRY:
            self._move(len(self._text))
        else:
            self._move(max(self._at, self._text.rfind("\n") + 1))

    def _waste(self) -> None:
        """Count text that was scanned in vain; a damaged file could otherwise take quadratic time."""
        self._wasted += self._reached - self._at
        if self._wasted > _MAX_WASTE:
            raise InputError("the file is too damaged: too many entries are not closed")

    def _move(self, to: int) -> None:
        """Pass over text that is no entry."""
        if to > self._at:
            self._lead.append(self._text[self._at : to])
        self._line += self._text.count("\n", self._at, to)
        self._at = to

    def _problem(self, start: re.Match[str], reason: str) -> Problem:
        key = _KEY.match(self._text, start.end())
        named = f"{start[1]} {text(key[1][:80])}" if key and key[1] else start[1]
        return Problem(f"@{named}: {reason}", self._line)

    def _entry(self, start: re.Match[str]) -> tuple[Entry | None, int]:
        """The entry that begins at `start`, or None for a comment, preamble or abbreviation, and its end."""
        kind, closer = start[1].lower(), "}" if start[2] == "{" else ")"
        self._expanded = 0
        if kind in ("comment", "preamble"):
            return None, self._skipped(start.end(2) - 1)
        if kind == "string":
            return None, self._abbreviation(start.end(), closer)
        key = _KEY.match(self._text, start.end())
        assert key is not None
        name, at = key[1], key.end()
        if closer == ")" and name.endswith(")"):
            name, at = name[:-1], key.end(1) - 1
        match self._text[at : at + 1]:
            case "":
                raise _CutOffError
            case "=" if name:
                fields, end = self._fields(key.start(1), closer)
                return Entry(kind, "", fields, self._line), end
            case ",":
                fields, end = self._fields(at + 1, closer)
                return Entry(kind, name, fields, self._line), end
            case character if character == closer:
                return Entry(kind, name, {}, self._line), at + 1
        raise _BadEntryError("comma missing after the key")

    def _fields(self, at: int, closer: str) -> tuple[dict[str, str], int]:
        content = self._text
        fields: dict[str, str] = {}
        while True:
            while plain := _PLAIN_FIELD.match(content, at):
                _add(fields, plain[1], plain[plain.lastindex or 1])
                at = plain.end()
            if end := _CLOSE[closer].match(content, at):
                return fields, end.end()
            field = _FIELD.match(content, at)
            if field is None:
                if _NOTHING.match(content, at):
                    raise _CutOffError
                raise _BadEntryError(f"field name and = missing{_after(fields)}")
            value, at = self._value(field.end())
            _add(fields, field[1], value)
            after = _AFTER.match(content, at)
            assert after is not None
            if after[1] == ",":
                at = after.end()
            elif after[1] == closer:
                return fields, after.end(1)
            elif after.end() == len(content):
                raise _CutOffError
            else:
                raise _BadEntryError(f"comma or brace missing{_after(fields)}")

    def _value(self, at: int) -> tuple[str, int]:
        """A value, with parts that are concatenated by ``#`` joined."""
        pieces = []
        while True:
            piece, at = self._piece(at)
            pieces.append(piece)
            joined = _AFTER.match(self._text, at)
            if joined is None or joined[1] != "#":
                return pieces[0] if len(pieces) == 1 else "".join(pieces), at
            at = joined.end()

    def _piece(self, at: int) -> tuple[str, int]:
        content = self._text
        match content[at : at + 1]:
            case "{":
                if plain := _PLAIN_BRACED.match(content, at):
                    return plain[1], plain.end()
                end = self._balanced(at)
                return content[at + 1 : end - 1], end
            case '"':
                if plain := _PLAIN_QUOTED.match(content, at):
                    return plain[1], plain.end()
                end = self._closing_quote(at)
                return content[at + 1 : end - 1], end
            case "":
                raise _CutOffError
        word = _WORD.match(content, at)
        if word is None:
            raise _BadEntryError("a field has no value")
        expansion = self._abbreviations.get(word[0].lower())
        if expansion is None:
            if not word[0].isdigit() and word[0][:3].lower() not in MONTHS:
                self.undefined[word[0]] = None
            return word[0], word.end()
        self._expanded += len(expansion)
        if self._expanded > _MAX_EXPANDED:
            raise _BadEntryError("its @string abbreviations expand to too much text")
        return expansion, word.end()

    def _balanced(self, at: int) -> int:
        """The end of the group that opens at `at`."""
        depth = 0
        for brace in _BRACE.finditer(self._text, at):
            match brace[0]:
                case "{":
                    depth += 1
                case "}":
                    depth -= 1
                    if not depth:
                        return brace.end()
                case _:
                    self._reached = brace.end()
                    raise _BadEntryError("braces are not balanced")
        self._reached = len(self._text)
        raise _CutOffError

    def _closing_quote(self, at: int) -> int:
        depth = 0
        for sign in _BRACE_OR_QUOTE.finditer(self._text, at + 1):
            match sign[0]:
                case "{":
                    depth += 1
                case "}":
                    depth -= 1
                    if depth < 0:
                        raise _BadEntryError("braces are not balanced")
                case '"':
                    if not depth:
                        return sign.end()
                case _:
                    self._reached = sign.end()
                    raise _BadEntryError("quote not closed")
        self._reached = len(self._text)
        raise _CutOffError

    def _skipped(self, at: int) -> int:
        """The end of a comment or a preamble; its content is ignored, even entries in it."""
        if self._text[at] == "(":
            return at + 1
        depth = 0
        for brace in _ANY_BRACE.finditer(self._text, at, at + _MAX_COMMENT):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                return brace.end()
        self._reached = min(len(self._text), at + _MAX_COMMENT)
        raise _CutOffError

    def end_of_abbreviation(self, start: re.Match[str]) -> int:
        """The end of the ``@string`` entry that begins at `start`."""
        return self._abbreviation(start.end(), "}" if start[2] == "{" else ")")

    def _abbreviation(self, at: int, closer: str) -> int:
        field = _FIELD.match(self._text, at)
        if field is None:
            raise _BadEntryError("no abbreviation name")
        value, at = self._value(field.end())
        if len(value) > _MAX_ABBREVIATION or len(self._abbreviations) > _MAX_ABBREVIATIONS:
            raise _BadEntryError("the abbreviation expands to too much text")
        self._abbreviations[field[1].lower()] = value
        end = _CLOSE[closer].match(self._text, at)
        if end is None:
            raise _BadEntryError("not closed")
        return end.end()


def _add(fields: dict[str, str], name: str, value: str) -> None:
    """Set a field; a repeated one, such as ``keywords``, keeps both values."""
    name = name.lower()
    fields[name] = f"{fields[name]}; {value}" if name in fields and fields[name] != value else value


def _after(fields: dict[str, str]) -> str:
    return f" after '{text(next(reversed(fields))[:80])}'" if fields else ""


# -- the text of an entry ---------------------------------------------------------------------------------------------


def key_span(text: str) -> tuple[int, int]:
    """Where the key of an entry is in its text; nothing for an entry without one."""
    start = _START.search(text)
    key = _KEY.match(text, start.end()) if start else None
    if key is None:
        return 0, 0
    return key.span(1) if text[key.end() : key.end() + 1] != "=" else (key.start(1), key.start(1))


def words(text: str) -> set[str]:
    """The words of an entry that may be abbreviations, in lower case."""
    scanner = _WordScanner()
    scanner.feed(text)
    for _ in scanner.scan(last=True):
        pass
    return scanner.words


def definitions(text: str) -> dict[str, str]:
    """The ``@string`` entries of a text, by the name that they define, in lower case."""
    scanner = _Scanner()
    scanner.feed(text)
    defined = {}
    for start in _START.finditer(text):
        if start[1].lower() == "string" and (name := _FIELD.match(text, start.end())):
            try:
                end = scanner.end_of_abbreviation(start)
            except (_BadEntryError, _CutOffError):
                continue
            defined[name[1].lower()] = text[start.start() : end]
    return defined


def abbreviations(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """The values of the ``@string`` entries of a text, by name in lower case, after those that are `known`."""
    scanner = _Scanner(known)
    scanner.feed(text)
    for start in _START.finditer(text):
        if start[1].lower() == "string":
            with suppress(_BadEntryError, _CutOffError):
                scanner.end_of_abbreviation(start)
    return scanner.abbreviations()


class _WordScanner(_Scanner):
    """Collects the words outside of braces and quotes."""

    def __init__(self) -> None:
        super().__init__()
        self.words: set[str] = set()

    def _piece(self, at: int) -> tuple[str, int]:
        if word := _WORD.match(self._text, at):
            self.words.add(word[0].lower())
        return super()._piece(at)
