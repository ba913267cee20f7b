"""The process that adds what was uploaded, and says on standard output how far it is, a line of JSON at a time.

It ends when its input does: with the server, whatever ended that. What it has committed stays.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path

import msgspec

from citewell.arrays import DamagedFileError
from citewell.errors import CitewellError
from citewell.library.add import Outcome
from citewell.library.library import Library
from citewell.library.lock import BusyError
from citewell.library.vectors.background import encode_in_background
from citewell.serve.jobs import Report

_NICE = 5


class Telling:
    """Progress as reports: the bytes that are read make the first half, the papers that are indexed the second."""

    def __init__(self, say: Reporter) -> None:
        self._say = say
        self._size = 1
        self._before = self._position = 0
        self._papers = 1
        self._indexed = 0

    def total(self, size: int) -> None:
        self._size = max(1, size)

    def reading(self, file: str) -> None:
        self._before += self._position
        self._position = 0
        self._tell(self._before, "reading")

    def read(self, position: int, records: int) -> None:
        self._position = position
        self._tell(self._before + position, f"reading: {records:,} records")

    def indexing(self, papers: int) -> None:
        self._papers, self._indexed = max(1, papers), 0
        self._tell(self._size, f"indexing {papers:,} papers")

    def indexed(self, papers: int) -> None:
        self._indexed += papers
        share = min(1.0, self._indexed / self._papers)
        self._tell(self._size + int(self._size * share), f"indexing {self._papers:,} papers")

    def _tell(self, done: int, message: str) -> None:
        self._say(Report(min(done, 2 * self._size), 2 * self._size, message))


class Reporter:
    """Writes reports where the server reads them."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what some module prints must not be taken for a report

    def __call__(self, report: Report) -> None:
        try:
            self._out.write(msgspec.json.encode(report) + b"\n")
            self._out.flush()
        except BrokenPipeError:
            os._exit(1)


def add(library: Library, files: list[Path], say: Reporter) -> None:
    """Add the files, and start the making of vectors."""
    try:
        outcome = library.add(files, Telling(say))
    except BusyError as error:
        say(Report(message=str(error), busy=True))
        return
    except (CitewellError, DamagedFileError) as error:
        say(Report(error=str(error)))
        return
    nothing = outcome.skipped and not (outcome.papers or outcome.contexts)
    why = f"nothing could be taken: {outcome.problems[0].reason}" if nothing else ""
    say(Report(message=_summary(outcome), error=why, result=msgspec.to_builtins(outcome)))
    try:
        encode_in_background(library)
    except (CitewellError, DamagedFileError, OSError) as error:
        print(f"the papers are added, but their vectors cannot be made: {error}", file=sys.stderr)


def _summary(outcome: Outcome) -> str:
    known = outcome.papers - outcome.new_papers
    skipped = f", {outcome.skipped:,} skipped" if outcome.skipped else ""
    return f"{outcome.papers:,} papers read: {outcome.new_papers:,} new, {known:,} known already or merged{skipped}"


def _end_with_input() -> None:
    while os.read(0, 1):  # not through sys.stdin, whose lock a thread must not hold when the process ends
        pass
    os._exit(1)


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(_NICE)
    threading.Thread(target=_end_with_input, daemon=True).start()
    folder, *files = map(Path, sys.argv[1:])
    tempfile.tempdir = str(files[0].parent)  # where the server clears up behind a process that had no time to
    with Library(folder) as library:
        add(library, files, Reporter())
