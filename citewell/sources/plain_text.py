"""Text files in whatever encoding they come: UTF-8, UTF-16 with its mark, or the Windows code page of older programs.

A line that is not UTF-8 is taken as cp1252, on its own: files that were pasted together from several sources hold both.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import chain

from citewell.sources.source import MAX_LINE_BYTES, Source

_CHUNK = 256 * 1024
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def chunks(source: Source) -> Iterator[str]:
    """The text of a file in pieces that end where a line does, every line ended by a mere newline."""
    read = source.stream.read
    if source.head.startswith(_WIDE):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        pieces: Iterator[str] = (decoder.decode(piece) for piece in iter(lambda: read(_CHUNK), b""))
        yield from _normalised(chain(pieces, [""]))
        return
    rest = b""
    while piece := read(_CHUNK):
        rest += piece
        end = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1
        if not end and len(rest) < MAX_LINE_BYTES:
            continue
        end = end or len(rest)
        yield _newlines(decoded(rest[:end]))
        rest = rest[end:]
    yield _newlines(decoded(rest))


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file."""
    number = 0
    for chunk in chunks(source):
        for line in chunk.removesuffix("\n").split("\n") if chunk else ():
            number += 1
            yield number, line


def decoded(data: bytes) -> str:
    """`data` as text, without a byte order mark."""
    if data.startswith(_WIDE):
        return _newlines(data.decode("utf-16", "replace"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    return "".join(map(_line, data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)))


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _normalised(pieces: Iterator[str]) -> Iterator[str]:
    """Pieces cut where a line ends; the last one says that by being empty."""
    rest = ""
    for piece in pieces:
        rest += piece
        end = max(rest.rfind("\n"), rest.rfind("\r", 0, -1)) + 1
        if end:
            yield _newlines(rest[:end])
            rest = rest[end:]
    yield _newlines(rest)
