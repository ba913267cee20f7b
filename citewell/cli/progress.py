"""Progress on standard error: a bar on a terminal, elsewhere a line every few seconds with count, rate and time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from citewell.progress import Progress

_LINE_SECONDS = 10.0
_BYTES = "bytes"


class TerminalProgress(Progress):
    """Shows the steps of a command, one after the other, and removes the bar when the command is done.

    >>> with TerminalProgress() as progress:                                 # doctest: +SKIP
    ...     library.add(["refs.bib"], progress)
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = _Bar(self._console) if sys.stderr.isatty() else None
        self._step = _Step()
        self._printed = 0.0

    def __enter__(self) -> TerminalProgress:
        if self._bar is not None:
            self._bar.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.end()

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        self._step = _Step(step, total, unit)
        self._printed = self._step.started
        if self._bar is not None:
            self._bar.show(self._step)

    def advance(self, count: int = 1) -> None:
        self.update(self._step.done + count, self._step.total)

    def update(self, done: int, total: int | None = None) -> None:
        self._step.done = done
        self._step.total = total if total is not None else self._step.total
        if self._bar is not None:
            self._bar.show(self._step)
        elif time.monotonic() - self._printed >= _LINE_SECONDS:
            self._printed = time.monotonic()
            print(f"citewell: {self._step.line()}", file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._step.total is not None:
            self.update(self._step.total)

    def message(self, line: str) -> None:
        self._console.print(f"citewell: {line}", markup=False, highlight=False, soft_wrap=True)


class _Step:
    """A step under way."""

    def __init__(self, name: str = "", total: int | None = None, unit: str = "") -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0
        self.started = time.monotonic()

    def rate(self) -> float:
        """Units per second; 0 where it is too early to tell."""
        elapsed = time.monotonic() - self.started
        return self.done / elapsed if elapsed > 0.5 else 0.0

    def rate_text(self) -> str:
        return f"{amount(self.rate(), self.unit)}/s" if self.rate() else ""

    def line(self) -> str:
        """Such as ``indexing 12,000 of 30,000 papers (40%), 1,900 papers/s, 9 s left``."""
        if self.total is None:
            parts = [f"{self.name} {amount(self.done, self.unit)}".rstrip()]
        else:
            done = amount(self.done, self.unit).split(" ")[0]
            share = 100 * self.done / max(1, self.total)
            parts = [f"{self.name} {done} of {amount(self.total, self.unit)} ({share:.0f}%)"]
        parts += [self.rate_text()] if self.rate_text() else []
        if self.total is not None and self.rate():
            parts.append(f"{duration(max(0, self.total - self.done) / self.rate())} left")
        return ", ".join(parts)


class _Bar:
    """The bar of the current step."""

    def __init__(self, console: Console) -> None:
        self._rich = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=console,
            transient=True,
        )
        self._step: _Step | None = None
        self._task: TaskID | None = None

    def begin(self) -> None:
        self._rich.start()

    def end(self) -> None:
        self._rich.stop()

    def show(self, step: _Step) -> None:
        if self._task is None or step is not self._step:
            if self._task is not None:
                self._rich.remove_task(self._task)
            self._task, self._step = self._rich.add_task(step.name, total=step.total, rate=""), step
        self._rich.update(self._task, completed=step.done, total=step.total, rate=step.rate_text())


def amount(count: float, unit: str) -> str:
    """A number of units, bytes as megabytes."""
    if unit == _BYTES:
        return f"{count / 1e6:,.1f} MB"
    number = f"{count:,.0f}" if count >= 10 or count == int(count) else f"{count:,.1f}"
    return f"{number} {unit}".rstrip()


def duration(seconds: float) -> str:
    """A time in its two largest units: ``9 s``, ``2 min 5 s``, ``3 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
