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
from citewell.progress import Progress
from citewell.serve import memory
from citewell.serve.jobs import Report

_NICE = 5
_SCALE = 1000


class ReportedProgress(Progress):
    """Sends progress as reports. Reading the files is the first half of the work, indexing the second."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._steps = 0
        self._message = ""
        self._done, self._total = 0, 1

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        self._steps += 1
        self._done, self._total = 0, max(1, total or 0)
        self._message = f"Indexing {total:,} {unit}" if step == "indexing" and total else "Reading"
        self._send()

    def advance(self, count: int = 1) -> None:
        self.update(self._done + count)

    def update(self, done: int, total: int | None = None) -> None:
        self._done = done
        self._send()

    def _send(self) -> None:
        share = min(1.0, self._done / self._total)
        self._report(Report(round(_SCALE * (min(self._steps, 2) - 1 + share)), 2 * _SCALE, self._message))


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
    except MemoryError:
        report(Report(error=memory.exceeded(memory.current_limit())))
        return
    nothing = outcome.skipped and not (outcome.papers or outcome.contexts)
    error_line = f"Nothing could be imported: {outcome.problems[0].reason}" if nothing else ""
    report(Report(message=_summary(outcome), error=error_line, result=msgspec.to_builtins(outcome)))
    memory.lift()  # the encoder outlives this process
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
    memory.limit(int(sys.argv[1]))
    folder, *files = map(Path, sys.argv[2:])
    tempfile.tempdir = str(files[0].parent)  # the server deletes what a killed process leaves there
    with Library(folder) as library:
        add(library, files, Reporter())
