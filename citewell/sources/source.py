"""An input file as readers see it: decompressed, with access to its beginning, and with lines of bounded length.

Whatever a file contains (a gigabyte without a newline, a gzip bomb, a truncated archive), a reader that uses this class needs
bounded memory and gets an `InputError` whose message tells the user what to do.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

from citewell.papers import Problem

HEAD_BYTES = 64 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024
_BOMB_RATIO = 250
_BOMB_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class InputError(Exception):
    """The rest of a file cannot be read; the records before it have been read."""


class _GzipStream(io.RawIOBase):
    """A gzip stream that stops at a decompression bomb."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._gzip = gzip.GzipFile(fileobj=raw)
        self._inflated = 0
        self._error: InputError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._error is not None:
            raise self._error
        count = 0
        try:
            while count < min(len(buffer), HEAD_BYTES) and (inflated := self._gzip.read1(len(buffer) - count)):
                buffer[count : count + len(inflated)] = inflated
                count += len(inflated)
        except EOFError:
            self._error = InputError("the gzip stream is truncated (incomplete download?)")
        except (gzip.BadGzipFile, zlib.error) as error:
            self._error = InputError(f"the gzip stream is damaged: {error}")
        # Return what came before the damage first; raise the error on the next read.
        if self._error is not None and not count:
            raise self._error
        self._inflated += count
        if self._inflated > _BOMB_BYTES and self._inflated > _BOMB_RATIO * max(1, self._raw.tell()):
            raise InputError(f"inflates to more than {_BOMB_RATIO} times its size; rejected as a decompression bomb")
        return count


class Source:
    """One open input file."""

    def __init__(self, path: Path, namespace: str = "local", content: bytes | None = None) -> None:
        """Open the file at `path`; `content`, if given, is read instead of the disk."""
        self.path = path
        self.namespace = namespace
        """The namespace of ids without a known scheme: the name of the data set, or ``local``."""
        self.abbreviations: Mapping[str, str] = {}
        """BibTeX's ``@string`` abbreviations of the user's other files."""
        self.undefined: list[str] = []
        """Abbreviations in the file that nothing defines, once it has been read."""
        self.size = path.stat().st_size if content is None else len(content)
        self._raw: BinaryIO = path.open("rb") if content is None else io.BytesIO(content)
        self.compressed = self._raw.read(2) == b"\x1f\x8b"
        self._raw.seek(0)
        self.stream: io.BufferedReader = (
            io.BufferedReader(_GzipStream(self._raw), _CHUNK)
            if self.compressed
            else io.BufferedReader(cast(io.RawIOBase, self._raw), _CHUNK)
        )
        self.head: bytes = self.stream.peek(HEAD_BYTES)[:HEAD_BYTES]

    @classmethod
    def of(cls, text: str, name: str = "") -> Source:
        """A text in memory, read like a file of this name."""
        return cls(Path(name), content=text.encode("utf-8", "surrogatepass"))

    def position(self) -> int:
        """How many bytes of the file on disk have been read; for progress, compared with `size`."""
        return min(self._raw.tell(), self.size)

    def lines(self) -> Iterator[tuple[int, bytes | Problem]]:
        """Numbered lines without their newline; a line longer than `MAX_LINE_BYTES` is a `Problem` instead."""
        number = 0
        while line := self.stream.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                del line
                while (rest := self.stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    pass
                yield number, Problem(f"line is longer than {MAX_LINE_BYTES >> 20} MiB", number)
            else:
                yield number, line.rstrip(b"\r\n")

    def close(self) -> None:
        self.stream.close()
        self._raw.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
