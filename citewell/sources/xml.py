"""XML files as a stream of records, in bounded memory, without network access and without entity expansion.

The file is fed to the parser in pieces that end where a record ends. If a piece is not well-formed, its record becomes a
`Problem` and a new parser continues after it, inside the same parents, so that a damaged record does not affect the others.
"""

from __future__ import annotations

import codecs
import html.entities
import re
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from typing import Any, NamedTuple, cast

from lxml import etree
from lxml.etree import _Element

from citewell.papers import Paper, Problem
from citewell.sources import clean
from citewell.sources.source import InputError, Source

MAX_RECORD_BYTES = 8 * 1024 * 1024
"""A tree takes about thirty times the memory of its file; regular records stay far below this limit."""
_CHUNK = 64 * 1024
_MAX_END_TAG = 64
_DOCTYPE = b'<!DOCTYPE r SYSTEM "r">'
"""Makes an undeclared entity such as ``&uuml;`` a node instead of a fatal error; it is never loaded."""
_DOCTYPE_PATTERN = re.compile(r"<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_DECLARATION = re.compile(rb"<\?xml\b[^>]*>")
_ENCODING = re.compile(rb"""\bencoding\s*=\s*["']([\w.-]+)""")
_STANDALONE = re.compile(rb"""\bstandalone\s*=\s*["']\w*["']""")
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)")
_NOT_SPACE = re.compile(r"\S")
_POSITION = re.compile(r",? ?\(?(?:<string>, )?line \d+.*", re.DOTALL)
_EXTRA_CONTENT = 5
_LATE_DECLARATION = 64
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class RecordError(ValueError):
    """A record that cannot be read; the message says why."""


class Opening(NamedTuple):
    """The beginning of an XML file."""

    root: str
    """Local name of the root element; empty if the file is not XML."""
    text: str
    """The beginning of the file, with the prolog."""


def opening(head: bytes) -> Opening:
    """The root element of the file that begins with `head`."""
    text = _decoded(head)
    root = _ROOT.match(text, _prolog(text)[0])
    return Opening(root[1] if root else "", text)


def papers(
    source: Source, tags: Iterable[str], build: Callable[[_Element], Paper | None], nested: bool = False
) -> Iterator[Paper | Problem]:
    """The result of `build` for each element with one of `tags`; None is skipped, a `RecordError` becomes a Problem."""
    for element in elements(source, tuple(tags), nested):
        if isinstance(element, Problem):
            yield element
            continue
        record, line = element
        try:
            _normalise(record)
            paper = build(record)
        except RecordError as error:
            yield Problem(str(error), line)
        except Exception as error:  # an error of ours in one record must not affect the others
            yield Problem(f"unexpected {type(error).__name__}: {error}"[:300], line)
        else:
            if paper is not None:
                yield paper


def elements(source: Source, tags: tuple[str, ...], nested: bool = False) -> Iterator[tuple[_Element, int] | Problem]:
    """Each element with one of `tags`, in any namespace, with its line; it is cleared when the next one is requested.

    With `nested`, elements with one of `tags` may be inside each other, and only the outermost are records.
    """
    feed = _Feed(tags, nested)
    try:
        for piece, ends_record in _pieces(source.stream, tags):
            yield from feed.take(piece, ends_record)
    except (InputError, OSError) as error:
        yield Problem(str(error), feed.line)
    else:
        yield from feed.finish()


def text(element: _Element | None) -> str:
    """The text of an element and its descendants, on one line."""
    if element is None:
        return ""
    whole = "".join(cast("Iterable[str]", element.itertext())) if len(element) else element.text
    return " ".join(whole.split()) if whole else ""


def text_at(element: _Element, path: str) -> str:
    """The text of the first element at `path`, empty if there is none."""
    return text(element.find(path))


def texts(elements: Iterable[_Element]) -> list[str]:
    """The texts of several elements, without duplicates and empty ones."""
    return clean.unique(map(text, elements))


class Fields(dict[str, list[str]]):
    """The texts of the children of a flat record by their local names, collected in one pass."""

    def __init__(self, record: _Element) -> None:
        for child in record:
            if content := text(child):
                self.setdefault(child.tag.rpartition("}")[2], []).append(content)

    def first(self, name: str) -> str:
        """The first text of that name, empty if there is none."""
        values = self.get(name)
        return values[0] if values else ""

    def all(self, name: str) -> list[str]:
        """The texts of that name, without duplicates."""
        return clean.unique(self.get(name, ()))


def iso_date(year: str, month: str = "", day: str = "") -> str:
    """The ISO date of a year, a month (a number or an English name) and a day, as far as they are valid."""
    name = month.strip()[:3].lower()
    return clean.day(year, _MONTHS.index(name) + 1 if name in _MONTHS else month, day)


class _Feed:
    """The current parser, and the state needed to replace it after an error."""

    def __init__(self, tags: tuple[str, ...], nested: bool = False) -> None:
        self._nested = nested
        self._names = tuple(f"{{*}}{tag}" for tag in tags)
        self._encoding = b"utf-8"
        self._home: _Element | None = None
        """The parent of the records, if they have one."""
        self._skipping = False
        self._empty = True
        self.line = 1
        """The line on which the next piece begins."""
        self._begin()

    def take(self, piece: bytes, ends_record: bool) -> Iterator[tuple[_Element, int] | Problem]:
        """The records that `piece` completes."""
        while not self._skipping:
            error = self._feed(piece)
            yield from self._records()
            error = error or self._unreported(ends_record)
            if error is None:
                break
            if document := self._document_after(error, piece):
                self.line += piece.count(b"\n", 0, len(piece) - len(document))
                self._begin()
                piece = document
                continue
            yield self._problem(error)
            self._skipping = True
        self.line += piece.count(b"\n")
        if self._skipping and ends_record:
            self._skipping = False
            self._begin(self._home)

    def finish(self) -> Iterator[tuple[_Element, int] | Problem]:
        """The remaining records at the end of the file."""
        if self._empty:
            yield Problem("the file is empty")
        if self._skipping or not self._fed:
            return
        error = self._close()
        yield from self._records()
        if error is not None:
            yield self._problem(error)

    def _close(self) -> Exception | None:
        try:
            self._parser.close()
        except (etree.LxmlError, ValueError, LookupError) as error:
            return error
        return None

    def _begin(self, home: _Element | None = None) -> None:
        """Start a new parser, for a document or for more children of `home`."""
        self._parser = etree.XMLPullParser(
            events=("start", "end"),
            tag=self._names,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            recover=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            self._preamble = b"" if home is None else b"".join(self._start_tags(home))
        except ValueError:  # the parser accepts namespaces that lxml cannot create elements with
            self._preamble, home = b"", None
        self._home = home
        self._open = 0
        self._pending = 0
        self._fed = False
        self._lines_before = self.line - 1

    def _start_tags(self, home: _Element) -> Iterator[bytes]:
        yield b'<?xml version="1.0" encoding="' + self._encoding + b'"?>' + _DOCTYPE
        for parent in reversed([home, *home.iterancestors()]):
            lone = etree.Element(parent.tag, attrib=cast("Any", parent.attrib), nsmap=cast("Any", parent.nsmap))
            yield etree.tostring(lone).removesuffix(b"/>") + b">"

    def _feed(self, piece: bytes) -> Exception | None:
        if not self._fed:
            piece = self._preamble + piece if self._preamble else self._as_document(piece)
            if not piece:
                return None
        self._pending += len(piece)
        self._fresh, self._fed, self._empty = not self._fed, True, False
        try:
            self._parser.feed(piece)
        except (etree.LxmlError, ValueError, LookupError) as error:
            return error
        return None

    def _as_document(self, piece: bytes) -> bytes:
        """The first piece of a document, normalised for the parser."""
        if b"\0" in piece[:4]:  # UTF-16, which the parser detects itself
            return piece
        stripped = piece.removeprefix(codecs.BOM_UTF8).lstrip()
        self._lines_before += piece.count(b"\n", 0, len(piece) - len(stripped))
        declared = _DECLARATION.match(stripped)
        declaration = _STANDALONE.sub(b"", declared[0]) if declared else b""
        rest = stripped[declared.end() :] if declared else stripped
        encoding = _ENCODING.search(declaration)
        self._encoding = encoding[1] if encoding else b"utf-8"
        root, has_doctype = _prolog(rest.decode("latin-1"))
        if not has_doctype and rest[root : root + 1] == b"<":
            rest = rest[:root] + _DOCTYPE + rest[root:]
        return declaration + rest

    def _records(self) -> Iterator[tuple[_Element, int]]:
        events: Iterable[tuple[str, Any]] = self._parser.read_events()
        for event, element in events:
            if event == "start":
                if not self._open:
                    self._home = element.getparent()
                self._open += 1
                continue
            self._open -= 1
            if self._nested and self._open:
                continue
            self._pending = 0
            yield element, self._lines_before + (element.sourceline or 1)
            element.clear(keep_tail=True)
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]

    def _unreported(self, ends_record: bool) -> Exception | None:
        """An error that the parser does not raise."""
        if self._pending > MAX_RECORD_BYTES:
            return RecordError(f"a record is larger than {MAX_RECORD_BYTES >> 20} MiB")
        if self._nested:
            return None
        # After its end tag a record must be complete. If not, the parser waits for something, such as the ";" of a bare "&".
        return self._close() or RecordError("the record does not end with its end tag") if ends_record and self._open else None

    def _document_after(self, error: Exception, piece: bytes) -> bytes:
        """The part of `piece` that begins another document, if files were simply concatenated."""
        if self._open or getattr(error, "code", None) not in (_EXTRA_CONTENT, _LATE_DECLARATION):
            return b""
        if (declaration := piece.find(b"<?xml", 1)) > 0:
            return piece[declaration:]
        return b"" if self._fresh or self._home is not None else piece

    def _problem(self, error: Exception) -> Problem:
        if isinstance(error, RecordError):
            return Problem(str(error), self.line)
        message = " ".join(_POSITION.sub("", str(error)).split())[:200]
        line = getattr(error, "lineno", None)
        return Problem(f"not well-formed XML: {message}", self._lines_before + line if line else self.line)


def _pieces(stream: BufferedReader, tags: tuple[str, ...]) -> Iterator[tuple[bytes, bool]]:
    """The file, cut after each end tag of a record; the flag says whether a piece ends with one."""
    end_tag = re.compile(rb"</(?:[\w.-]+:)?(?:" + b"|".join(re.escape(tag.encode()) for tag in tags) + rb")\s*>")
    rest = b""
    while chunk := stream.read1(_CHUNK):
        chunk = rest + chunk
        at = 0
        for end in end_tag.finditer(chunk):
            yield chunk[at : end.end()], True
            at = end.end()
        unfinished = chunk.rfind(b"<", max(at, len(chunk) - _MAX_END_TAG))
        keep = unfinished if unfinished >= 0 else len(chunk)
        if at < keep:
            yield chunk[at:keep], False
        rest = chunk[keep:]
    if rest:
        yield rest, False


def _decoded(head: bytes) -> str:
    """`head` as text in which at least the ASCII characters are correct."""
    if head.startswith((codecs.BOM_UTF16_LE, b"<\0")):
        return head.removeprefix(codecs.BOM_UTF16_LE).decode("utf-16-le", "replace")
    if head.startswith((codecs.BOM_UTF16_BE, b"\0<")):
        return head.removeprefix(codecs.BOM_UTF16_BE).decode("utf-16-be", "replace")
    return head.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _prolog(text: str) -> tuple[int, bool]:
    """Where the content after declaration, comments and doctype begins, and whether there is a doctype."""
    at, has_doctype = 0, False
    while content := _NOT_SPACE.search(text, at):
        at = content.start()
        if text.startswith("<?", at):
            end = text.find("?>", at) + 2
        elif text.startswith("<!--", at):
            end = text.find("-->", at) + 3
        elif doctype := _DOCTYPE_PATTERN.match(text, at):
            end, has_doctype = doctype.end(), True
        else:
            break
        if end <= at:
            break
        at = end
    return at, has_doctype


def _normalise(record: _Element) -> None:
    """Replace entities by their characters and line breaks by spaces, so that `text` need not handle them."""
    run: list[Any] = []
    entities: list[Any] = list(record.iter(etree.Entity))
    for entity in entities:
        if run and entity.getprevious() is not run[-1]:
            _replace_entities(run)
            run = []
        run.append(entity)
    if run:
        _replace_entities(run)
    for gap in record.iter("{*}break", "{*}br", "{*}par"):
        gap.tail = " " + (gap.tail or "")


def _replace_entities(run: list[Any]) -> None:
    """Replace adjacent entities by text, all at once: one at a time would copy the text for each."""
    pieces = []
    for entity in run:
        character = html.entities.html5.get(f"{entity.name};")
        if character is None:
            raise RecordError(f"uses the unknown entity &{entity.name[:40]};")
        pieces += [character, entity.tail or ""]
    before, parent = run[0].getprevious(), run[0].getparent()
    if before is not None:
        before.tail = "".join([before.tail or "", *pieces])
    else:
        parent.text = "".join([parent.text or "", *pieces])
    for entity in run:
        entity.tail = None
        parent.remove(entity)
