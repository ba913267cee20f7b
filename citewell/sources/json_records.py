"""The records of a JSON file in any layout: one per line, in an array, or in the array inside the answer of an API.

msgspec decodes lines; every other layout is read as a stream of values, so that a file may be larger than memory and a damaged
record does not affect the others. Invalid JSON that programs do write (NaN, lone surrogates, Latin-1 bytes) is accepted.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from citewell.papers import Problem
from citewell.sources.clean import Json
from citewell.sources.source import HEAD_BYTES, MAX_LINE_BYTES, InputError, Source

_CHUNK = 1024 * 1024
_MAX_WASTE = 4 * MAX_LINE_BYTES
_STRICT = msgspec.json.Decoder()
_LENIENT = json.JSONDecoder(strict=False)
_WRAPPERS = ("results", "items", "data")
_WRAPPED = re.compile(r'"(?:results|items|data)"\s*:\s*\[')
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_TOKEN = re.compile(rf"{_QUOTED.pattern}|[{{}}\[\],]", re.DOTALL)
_MAX_DEPTH = 100
_LINES_TRIED = 100
_GAP = re.compile(r"[\s,]*")
_SPACE = re.compile(r"[\ufeff\s]*")
_KEY = re.compile(r'\{\s*"(\w+)"')


def decode(line: bytes) -> Any:
    """The JSON value of `line`; a `ValueError` says briefly what is wrong with it."""
    try:
        return _STRICT.decode(line)
    except (ValueError, RecursionError):
        pass
    try:
        content = line.decode("utf-8")
    except UnicodeDecodeError:
        content = line.decode("cp1252", "replace")
    try:
        return _LENIENT.decode(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} (column {error.pos + 1})") from None
    except ValueError:
        raise ValueError("not valid JSON: a number is too long") from None


def unwrap(record: Json) -> list[Any] | None:
    """The records inside the answer of an API, or None if `record` is a record itself."""
    if "title" in record:
        return None
    if isinstance(message := record.get("message"), dict):
        record = message
    return next((inside for key in _WRAPPERS if isinstance(inside := record.get(key), list)), None)


def records(source: Source) -> Iterator[tuple[int, Json | Problem]]:
    """Every record with the line on which it begins; anything else is a `Problem`."""
    for line, value in _lines(source) if _one_per_line(source.head) else _stream(source):
        if isinstance(value, dict) and (inside := unwrap(value)) is not None:
            yield from ((line, each if isinstance(each, dict) else _not_an_object(line)) for each in inside)
        elif isinstance(value, dict | Problem):
            yield line, value
        else:
            yield line, _not_an_object(line)


@lru_cache(maxsize=1)
def first_record(head: bytes) -> Json:
    """The first record of a file that begins with `head`, as far as it goes; empty if the file is not JSON."""
    content = head.decode("utf-8-sig", "surrogateescape").lstrip()
    if content[:1] not in ("{", "["):
        return {}
    value = (_first_line(content) if _one_per_line(head) else None) or _completed(content)
    for _ in range(_MAX_DEPTH):
        inside = unwrap(value) if isinstance(value, dict) else value
        if not isinstance(inside, list):
            break
        value = next((each for each in inside if isinstance(each, dict | list)), None)
    return value if isinstance(value, dict) else {}


def _first_line(content: str) -> Any:
    """The first complete and valid line; a damaged one at the beginning says little about the file."""
    for line in islice(content.split("\n"), _LINES_TRIED):
        try:
            return _LENIENT.decode(line)
        except (ValueError, RecursionError):
            continue
    return None


def _completed(content: str) -> Any:
    """The value at the beginning of `content`; if it is truncated, cut at the last comma and closed."""
    closers: list[str] = []
    cut, closing = 0, ""
    for token in _TOKEN.finditer(content):
        match token[0]:
            case "{" | "[" as opened:
                closers.append("}" if opened == "{" else "]")
                if len(closers) > _MAX_DEPTH:
                    return None
            case "}" | "]" as closed:
                if not closers or closers.pop() != closed:
                    return None
                if not closers:
                    cut, closing = token.end(), ""
                    break
            case ",":
                cut, closing = token.start(), "".join(reversed(closers))
    try:
        return _LENIENT.decode(content[:cut] + closing)
    except ValueError:
        return None


def _one_per_line(head: bytes) -> bool:
    """Whether a file that begins with `head` has one record per line."""
    head = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not head.startswith(b"{"):
        return False
    first, newline, _ = head.partition(b"\n")
    try:
        if newline and isinstance(decode(first), dict):
            return True
    except ValueError:
        pass
    if _array_start(head.decode("utf-8", "surrogateescape")):
        return False
    return not newline or (first.strip() != b"{" and b'\n{"' in head)


def _array_start(content: str) -> int:
    """Where the records inside the answer of an API begin, or 0."""
    for match in islice(_WRAPPED.finditer(content), 5):
        before = _QUOTED.sub("", content[: match.end()])
        depth = sum(map(before.count, "{[")) - sum(map(before.count, "}]"))
        if depth == 2 or (depth == 3 and '"message"' in content[: match.start()]):
            return match.end()
    return 0


def _lines(source: Source) -> Iterator[tuple[int, Any]]:
    for number, line in source.lines():
        if isinstance(line, Problem):
            yield number, line
            continue
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line and not line.isspace():
            try:
                yield number, decode(line)
            except ValueError as error:
                yield number, Problem(str(error), number)


def _stream(source: Source) -> Iterator[tuple[int, Any]]:
    """The values of an array, or a sequence of values, independent of line breaks."""
    window = _Window(source)
    array = window.enter()
    again: re.Pattern[str] | None = None
    wasted = 0
    while window.skip_gap():
        if array and window.text[window.at] == "]":
            if not window.next_document():
                return
            array = window.enter()
            continue
        if again is None and (key := _KEY.match(window.text, window.at)):
            again = re.compile(rf'\{{\s*"{key[1]}"\s*:')
        try:
            value, end = _LENIENT.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            cut_off = error.msg.startswith("Unterminated") or error.pos > len(window.text) - 10
            if cut_off and window.more():
                continue
            wasted += len(window.text) - window.at if cut_off else error.pos - window.at
            reason = f"not valid JSON: {error.msg}"
            if cut_off:
                reason = (
                    f"longer than {MAX_LINE_BYTES >> 20} MiB" if window.full() else "the file ends in the middle of a record"
                )
        except (RecursionError, ValueError):
            reason = "nested too deeply, or a number is too long"
        else:
            line = window.line
            window.move(end)
            yield line, value
            continue
        yield window.line, Problem(reason, window.line)
        if wasted > _MAX_WASTE:
            raise InputError("the file is too damaged: too many records have no end")
        window.move_to_next(again)


class _Window:
    """The part of a file that is in memory as text, and the read position in it."""

    def __init__(self, source: Source) -> None:
        self.text = ""
        self.at = 0
        self.line = 1
        self._stream = source.stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.more()

    def full(self) -> bool:
        return len(self.text) - self.at > MAX_LINE_BYTES

    def more(self) -> bool:
        """Read more, doubling the window; False at the end of the file or if a record exceeds the limit."""
        if self.full():
            return False
        data = self._stream.read(max(_CHUNK, len(self.text) - self.at))
        self.text = self.text[self.at :] + self._decoder.decode(data, final=not data)
        self.at = 0
        return bool(data)

    def move(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def enter(self) -> bool:
        """Skip everything before the first record; True if the records are in an array."""
        start = _after(_SPACE, self.text, self.at)
        inside = _array_start(self.text[start : start + HEAD_BYTES]) or int(self.text.startswith("[", start))
        self.move(start + inside)
        return inside > 0

    def skip_gap(self) -> bool:
        """Skip spaces and commas; False at the end of the file."""
        while True:
            self.move(_after(_GAP, self.text, self.at))
            if self.at < len(self.text):
                return True
            if not self.more():
                return False

    def next_document(self) -> bool:
        """Move to the next answer of an API, if the file has several, one per line."""
        while True:
            if (newline := self.text.find("\n{", self.at)) >= 0:
                self.move(newline + 1)
                return True
            self.move(max(self.at, len(self.text) - 1))
            if not self.more():
                return False

    def move_to_next(self, again: re.Pattern[str] | None) -> None:
        """Skip a damaged record: continue where something begins like the first record."""
        self.move(self.at + 1)
        while not (again and (match := again.search(self.text, self.at))):
            self.move(len(self.text))
            if not self.more():
                return
        self.move(match.start())


def _not_an_object(line: int) -> Problem:
    return Problem("not a JSON object", line)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of the match of `pattern` at position `at`; `at` itself if there is none."""
    match = pattern.match(text, at)
    return match.end() if match else at
