"""The process that runs an import job. It reports its progress on standard output, one JSON line at a time.

It exits when its standard input closes, and so with the server. What it has committed stays.
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


class ReportedProgress:
    """Sends progress as reports. Reading the files is the first half of the work, indexing the second."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._bytes = 1
        self._bytes_before = self._position = 0
        self._papers = 1
        self._indexed = 0

    def total(self, size: int) -> None:
        self._bytes = max(1, size)

    def reading(self, file: str) -> None:
        self._bytes_before += self._position
        self._position = 0
        self._send(self._bytes_before, "Reading")

    def read(self, position: int, records: int) -> None:
        self._position = position
        self._send(self._bytes_before + position, f"Reading: {records:,} records")

    def indexing(self, papers: int) -> None:
        self._papers, self._indexed = max(1, papers), 0
        self._send(self._bytes, f"Indexing {papers:,} papers")

    def indexed(self, papers: int) -> None:
        self._indexed += papers
        share = min(1.0, self._indexed / self._papers)
        self._send(self._bytes + int(self._bytes * share), f"Indexing {self._papers:,} papers")

    def _send(self, done: int, message: str) -> None:
        self._report(Report(min(done, 2 * self._bytes), 2 * self._bytes, message))


class Reporter:
    """Writes reports to the server."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # output that a module prints must not end up among the reports

    def __call__(self, report: Report) -> None:
        try:
            self._out.write(msgspec.json.encode(report) + b"\n")
            self._out.flush()
        except BrokenPipeError:
            os._exit(1)


def add(library: Library, files: list[Path], report: Reporter) -> None:
    """Add the files and start the background encoder."""
    try:
        outcome = library.add(files, ReportedProgress(report))
    except BusyError as error:
        report(Report(message=str(error), busy=True))
        return
    except (CitewellError, DamagedFileError) as error:
        report(Report(error=str(error)))
        return
    nothing = outcome.skipped and not (outcome.papers or outcome.contexts)
    error_line = f"Nothing could be imported: {outcome.problems[0].reason}" if nothing else ""
    report(Report(message=_summary(outcome), error=error_line, result=msgspec.to_builtins(outcome)))
    try:
        encode_in_background(library)
    except (CitewellError, DamagedFileError, OSError) as error:
        print(f"The papers were added, but their vectors cannot be computed: {error}", file=sys.stderr)


def _summary(outcome: Outcome) -> str:
    known = outcome.papers - outcome.new_papers
    skipped = f", {outcome.skipped:,} skipped" if outcome.skipped else ""
    return f"{outcome.papers:,} papers read: {outcome.new_papers:,} new, {known:,} already in the library or merged{skipped}"


def _exit_with_input() -> None:
    while os.read(0, 1):  # not through sys.stdin: a thread must not hold its lock when the process exits
        pass
    os._exit(1)


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(_NICE)
    threading.Thread(target=_exit_with_input, daemon=True).start()
    folder, *files = map(Path, sys.argv[1:])
    tempfile.tempdir = str(files[0].parent)  # the server deletes what a killed process leaves there
    with Library(folder) as library:
        add(library, files, Reporter())
