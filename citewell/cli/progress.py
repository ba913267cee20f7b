"""A progress bar on standard error: what is read, how fast, how long it will take."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Task, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from citewell.progress import Progress


class Bar(Progress):
    """Shows an add, a rebuild or an evaluation; quiet where standard error is not a terminal."""

    def __init__(self) -> None:
        self._progress = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._reading: TaskID | None = None
        self._indexing: TaskID | None = None
        self._step: TaskID | None = None
        self._unit = ""
        self._training: TaskID | None = None
        self._fetching: TaskID | None = None
        self._before = 0
        self._position = 0
        self._records = 0
        self._earlier_records = 0

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def total(self, size: int) -> None:
        self._reading = self._progress.add_task("reading", total=max(1, size), rate="")

    def reading(self, file: str) -> None:
        self._before += self._position
        self._earlier_records += self._records
        self._position = self._records = 0
        if self._reading is not None:
            self._progress.update(self._reading, description=f"reading {file}")

    def read(self, position: int, records: int) -> None:
        self._position, self._records = position, records
        if self._reading is not None:
            elapsed = self._task(self._reading).elapsed or 0
            rate = f"{(self._earlier_records + records) / elapsed:,.0f} records/s" if elapsed > 0.5 else ""
            self._progress.update(self._reading, completed=self._before + position, rate=rate)

    def _task(self, number: TaskID) -> Task:
        """Its place is not its number once another task was removed."""
        return next(task for task in self._progress.tasks if task.id == number)

    def indexing(self, papers: int) -> None:
        if self._indexing is not None:
            self._progress.remove_task(self._indexing)
        self._indexing = self._progress.add_task("indexing", total=papers, rate=f"{papers:,} papers")

    def indexed(self, papers: int) -> None:
        if self._indexing is not None:
            self._progress.advance(self._indexing, papers)

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        self.finish()
        self._unit = unit
        self._step = self._progress.add_task(step, total=total, rate="")

    def advance(self, count: int = 1) -> None:
        if self._step is not None:
            self._progress.advance(self._step, count)
            self._show_rate(self._step)

    def update(self, done: int, total: int | None = None) -> None:
        if self._step is not None:
            self._progress.update(self._step, completed=done, total=total)
            self._show_rate(self._step)

    def _show_rate(self, step: TaskID) -> None:
        task = self._task(step)
        if task.elapsed:
            self._progress.update(step, rate=f"{task.completed / task.elapsed:,.0f} {self._unit}/s")

    def finish(self) -> None:
        if self._step is not None:
            self._progress.remove_task(self._step)
            self._step = None

    def asking(self, questions: int) -> None:
        self.start("running queries", questions, "queries")

    def asked(self, questions: int) -> None:
        self.advance(questions)

    def message(self, line: str) -> None:
        self.say(line)

    def fetching(self, service: str) -> None:
        self._fetching = self._progress.add_task(f"fetching from {service}", total=None, rate="")

    def fetched(self, papers: int, total: int | None) -> None:
        if self._fetching is not None:
            self._progress.update(self._fetching, completed=papers, total=total, rate=f"{papers:,} papers")

    def say(self, line: str) -> None:
        """A line for a person, above the bar where there is one."""
        self._progress.console.print(f"citewell: {line}", markup=False, highlight=False, soft_wrap=True)

    def training(self, steps: int) -> None:
        if self._training is not None:
            self._progress.remove_task(self._training)
        self._training = self._progress.add_task("training", total=max(1, steps), rate="")

    def trained(self, steps: int) -> None:
        if self._training is not None:
            self._progress.advance(self._training, steps)
