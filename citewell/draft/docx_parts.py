"""Edits an XML part of a Word file in its bytes: only the runs that change are rewritten, everything else stays as it is.

An XML library would parse and serialise the whole part, and change quotation marks, entities and declarations on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PREFIX = re.compile(rb"<([\w.-]+:)?")
_UTF8 = re.compile(rb"\s*<\?xml[^>]*encoding=[\"'](?!utf-?8)", re.IGNORECASE)


@dataclass(slots=True)
class Span:
    """An element: the bytes that it has in the part."""

    begin: int
    end: int = 0
    properties: tuple[int, int] = (0, 0)
    """The bytes of its ``w:rPr`` or ``w:pPr``; empty where it has none."""


@dataclass(slots=True)
class TextSpan:
    """A text element, with the run and the paragraph that contain it."""

    begin: int
    run: Span
    paragraph: Span
    end: int = 0
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text itself."""
        return "".join(self.pieces)


@dataclass(slots=True)
class _Edit:
    begin: int
    end: int
    runs: bytes


class WordPart:
    """An XML part: its text elements in order, and the edits of them."""

    def __init__(self, data: bytes) -> None:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) or _UTF8.match(data[:200]):
            raise ValueError("its XML is not in UTF-8")
        self.data = data
        self.texts: list[TextSpan] = []
        self.body_end = 0
        """Where a paragraph can be added at the end: before the properties of the last section."""
        self._open: list[tuple[str, Span]] = []
        self._edits: dict[int, list[_Edit]] = {}
        self._paragraphs: dict[int, bytes] = {}
        self._parse()
        self.prefix = (prefix[1] or b"" if (prefix := _PREFIX.match(data, self._root)) else b"").decode()

    # -- reading ------------------------------------------------------------------------------------------------------

    def _parse(self) -> None:
        self._root = -1
        self._text: TextSpan | None = None
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.Parse(self.data, True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._parser.CurrentByteIndex
        if self._root < 0:
            self._root = at
        if name == f"{_W}}}t":
            span = TextSpan(at, self._around("r", at), self._around("p", at))
            self.texts.append(span)
            self._text = span
        elif name == f"{_W}}}sectPr" and self._parents() == ["document", "body"]:
            self.body_end = at
        self._open.append((name, Span(at)))

    def _end(self, name: str) -> None:
        at = self._parser.CurrentByteIndex
        end = self.data.index(b">", at) + 1
        _, span = self._open.pop()
        span.end = end
        if name == f"{_W}}}t" and self._text is not None:
            self._text.end, self._text = end, None
        elif name in (f"{_W}}}rPr", f"{_W}}}pPr") and self._open:
            self._open[-1][1].properties = span.begin, end
        elif name == f"{_W}}}body" and not self.body_end:
            self.body_end = at

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.pieces.append(text)

    def _around(self, name: str, at: int) -> Span:
        return next((span for each, span in reversed(self._open) if each == f"{_W}}}{name}"), Span(at, at))

    def _parents(self) -> list[str]:
        return [name.rpartition("}")[2] for name, _ in self._open]

    # -- editing ------------------------------------------------------------------------------------------------------

    def properties(self, span: Span) -> str:
        """The XML of the properties of a run or a paragraph."""
        return self.data[slice(*span.properties)].decode()

    def replace(self, number: int, begin: int, end: int, runs: str) -> None:
        """Replace some characters of a text element by runs; `runs` may be empty."""
        self._edits.setdefault(number, []).append(_Edit(begin, end, runs.encode()))

    def add_paragraphs(self, at: int, paragraphs: Iterable[str]) -> None:
        """Insert paragraphs at a byte offset: the end of a paragraph, or `body_end`."""
        self._paragraphs[at] = self._paragraphs.get(at, b"") + "".join(paragraphs).encode()

    def edited(self) -> bytes:
        """The part with all edits."""
        changes = [self._rewritten(self.texts[number], edits) for number, edits in self._edits.items()]
        changes += [(at, at, new) for at, new in self._paragraphs.items()]
        data = self.data
        for begin, end, new in sorted(changes, key=lambda change: change[:2], reverse=True):
            data = data[:begin] + new + data[end:]
        return data

    def _rewritten(self, span: TextSpan, edits: list[_Edit]) -> tuple[int, int, bytes]:
        """A text element with its edits: the run ends before new runs and begins again, with its properties, after them."""
        run = span.run
        open_run = self.data[run.begin : self.data.index(b">", run.begin) + 1] + self.data[slice(*run.properties)]
        pieces, at, text = [], 0, span.text
        for edit in sorted(edits, key=lambda each: (each.begin, each.end)):
            pieces.append(self._written(text[at : edit.begin]))
            if edit.runs:
                pieces.append(f"</{self.prefix}r>".encode() + edit.runs + open_run)
            at = max(at, edit.end)
        return span.begin, span.end, b"".join([*pieces, self._written(text[at:])])

    def _written(self, text: str) -> bytes:
        return f'<{self.prefix}t xml:space="preserve">{escape(text)}</{self.prefix}t>'.encode() if text else b""
