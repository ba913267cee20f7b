"""The file of judgements: a mark is on the disk before the server confirms it.

Several servers, and `citewell study import`, may append to one file at the same time. Readers see what others append.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock

import msgspec
from filelock import FileLock

from citewell.errors import CitewellError
from citewell.files import sync_folder
from citewell.judgements import Record, decode, encode


class Log:
    """The records of a file, in their order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: list[Record] = []
        self._offset = 0
        self._lines = 0
        self._lock = Lock()

    def records(self) -> Sequence[Record]:
        """All records so far, those included that others have appended."""
        with self._lock:
            self._read_new()
            return tuple(self._records)

    def append(self, records: Iterable[Record]) -> None:
        """Append records; they are on the disk when this returns."""
        data = b"".join(encode(record) for record in records)
        with self._lock, FileLock(f"{self.path}.lock"):
            is_new = not self.path.exists()
            with self.path.open("ab+", buffering=0) as file:
                _drop_torn_line(file.fileno())
                file.write(data)
                os.fsync(file.fileno())
            if is_new:
                sync_folder(self.path.parent)

    def _read_new(self) -> None:
        """Read the complete lines after those that were read before."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        *complete, _ = data.split(b"\n")
        for line in complete:
            if line.strip():
                try:
                    self._records.append(decode(line))
                except msgspec.DecodeError as error:
                    where = f"{self.path}, line {self._lines + 1}"
                    raise CitewellError(f"{where}: not a judgement ({error}); correct or remove the line") from None
            self._lines += 1
            self._offset += len(line) + 1


def _drop_torn_line(file: int) -> None:
    """Remove an incomplete last line: a power failure cut it off before the server had confirmed it."""
    size = os.fstat(file).st_size
    end = size
    while end and os.pread(file, 1, end - 1) != b"\n":
        end -= 1
    if end < size:
        os.ftruncate(file, end)


def in_order(records: Iterable[Record]) -> list[Record]:
    """The records by time: files of several machines may be appended to each other in any order."""
    return sorted(records, key=lambda record: record.at)


def merge(log: Log, others: Sequence[Record]) -> int:
    """Append the records that `log` lacks; returns how many.

    Readers of a file let the later line win. So where an older record is appended after a newer one of the same person and
    query, the newer records of that query are appended once more.
    """
    known = dict.fromkeys(log.records())
    new = [record for record in dict.fromkeys(in_order(others)) if record not in known]
    oldest: dict[tuple[str, str], str] = {}
    for record in new:
        oldest.setdefault((record.judge, record.query), record.at)
    newer = [record for record in known if record.at > oldest.get((record.judge, record.query), record.at)]
    if new:
        log.append(in_order(dict.fromkeys((*new, *newer))))
    return len(new)


def judges_of(records: Iterable[Record]) -> list[str]:
    """Everyone who has marked anything, in the order of appearance."""
    return list(dict.fromkeys(record.judge for record in records))
