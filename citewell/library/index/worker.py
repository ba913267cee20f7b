"""A second process that builds segments while the first one reads and stores records.

It reads jobs as JSON lines on standard input, reads the texts from the store, and answers with the entries of the segments it
has written, or with the error that stopped it. It ends when its input does, so it does not outlive the process that started it.
It is a fresh interpreter, neither forked nor spawned: an open database must not be forked, and a user's script need not be
importable.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.library.index import manifest as manifests
from citewell.library.index.builder import Builder, Dirty
from citewell.library.index.manifest import Entry
from citewell.library.store.store import Store
from citewell.processes import command, environment


class _Job(msgspec.Struct):
    dirty: list[tuple[int, int]]
    stacked: list[str]


class _Answer(msgspec.Struct):
    entries: list[Entry] = []
    errno: int | None = None
    error: str = ""


class Worker:
    """The handle of that process, in the process that writes the library."""

    def __init__(self, library: Path) -> None:
        self._process = subprocess.Popen(
            command("citewell.library.index.worker:main", str(library)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # an interrupt at the keyboard is for this process, which then ends the other
            env=environment(),
        )

    def build(self, dirty: Dirty, stacked: Sequence[str]) -> list[Entry]:
        """Build segments in that process; blocks until they are written."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(msgspec.json.encode(_Job(list(dirty), list(stacked))) + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise OSError("the process that builds the index has ended; run the same command again")
        answer = msgspec.json.decode(line, type=_Answer)
        if answer.error:
            raise OSError(answer.errno, answer.error) if answer.errno is not None else OSError(answer.error)
        return answer.entries

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def main() -> None:
    library = Path(sys.argv[1])
    store = Store.open(library)
    builder = Builder(library / manifests.FOLDER, store)
    for line in sys.stdin.buffer:
        job = msgspec.json.decode(line, type=_Job)
        try:
            answer = _Answer(builder.build(job.dirty, job.stacked))
        except OSError as error:
            answer = _Answer(errno=error.errno, error=error.strerror or str(error))
        except sqlite3.Error as error:
            answer = _Answer(error=str(error))
        try:
            sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)
    store.close()
