"""Text files in UTF-8, in UTF-16 with a byte order mark, or in the Windows code page of older programs.

Each line that is not UTF-8 is decoded as cp1252: files assembled from several sources contain both.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from citewell.sources.source import MAX_LINE_BYTES, Source

_CHUNK = 256 * 1024
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def chunks(source: Source, exact: bool = False) -> Iterator[str]:
    """The text of a file in chunks of whole lines, with line ends normalised to a newline.

    `exact`: leave line ends as they are, unless the file has no newline at all.
    """
    decoded = _exactly if exact and b"\n" in source.head else _decoded
    waiting: list[bytes] = []
    size = 0
    for piece in _pieces(source):
        waiting.append(piece)
        size += len(piece)
        # A carriage return at the very end may be the first half of a line end.
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, -1)) + 1
        if end or size >= MAX_LINE_BYTES:
            cut = end or len(piece)
            waiting[-1] = piece[:cut]
            yield decoded(b"".join(waiting))
            waiting = [piece[cut:]]
            size = len(waiting[0])
    yield decoded(b"".join(waiting))


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file."""
    number = 0
    for chunk in chunks(source):
        for line in chunk.removesuffix("\n").split("\n") if chunk else ():
            number += 1
            yield number, line


def exact_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file with their ends, as it has them; a file of an old Mac has newlines instead."""
    number = 0
    for chunk in chunks(source, exact=True):
        pieces = chunk.split("\n")
        for line in [*(f"{piece}\n" for piece in pieces[:-1]), *filter(None, pieces[-1:])]:
            number += 1
            yield number, line


def beginning(head: bytes) -> str:
    """The text of the first bytes of a file."""
    return _newlines(head.decode("utf-16", "replace")) if head.startswith(_UTF16_MARKS) else _decoded(head)


def _pieces(source: Source) -> Iterator[bytes]:
    """The bytes of a file, converted to UTF-8 if they are UTF-16."""
    pieces = iter(lambda: source.stream.read(_CHUNK), b"")
    if not source.head.startswith(_UTF16_MARKS):
        return pieces
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    return (decoder.decode(piece).encode("utf-8", "replace") for piece in pieces)


def _decoded(data: bytes) -> str:
    return _newlines(_exactly(data))


def _exactly(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "".join(map(_line, data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)))


def _line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
