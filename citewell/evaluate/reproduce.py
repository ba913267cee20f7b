"""A published study beside our own measurements: its tables, row by row, and what the same method reaches on the sets at hand.

The figures stand on other data than the study's, so they compare methods, not papers. A row whose method is not built yet is
shown as missing; a row that no method of ours answers to is left blank.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.experiment import Watcher
from citewell.evaluate.sets import DataSet
from citewell.evaluate.studies import Row, Study, Table
from citewell.evaluate.term_overlap import is_overlap
from citewell.evaluate.tuning import label
from citewell.library.add import Progress
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline

if TYPE_CHECKING:
    from rich.console import Console

MEASURED, MISSING, NONE = "measured", "missing", "no counterpart"
Figures = dict[str, dict[str, float]]
"""Set to measure to value."""


@lru_cache(maxsize=64)
def _at_hand(name: str) -> bool:
    """Whether there is such a pipeline, its weights are at hand, and what trains its models is installed."""
    from citewell.train.training import can_train

    if name not in definitions():
        return False
    found = pipeline(name)
    return not found.missing_weights() and all(can_train(model) for model in found.models())


@dataclass
class Line:
    """One row of a study, and ours beside it."""

    row: Row
    ours: Figures = field(default_factory=dict)

    @property
    def status(self) -> str:
        if not self.row.pipeline:
            return NONE
        return MEASURED if _at_hand(self.row.pipeline) else MISSING


@dataclass
class Beside:
    """One table of a study, and ours beside it."""

    table: Table
    lines: list[Line]
    queries: dict[str, int]
    """How many questions each set asked."""
    failed: dict[str, str] = field(default_factory=dict)
    """Which sets could not be asked, and why."""


def reproduce(
    study: Study,
    sets: Sequence[Path],
    sample: int | None,
    seed: int = 0,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> list[Beside]:
    """Measure every method of a study that we have, on every set that has the task."""
    found = [Beside(table, [Line(row) for row in table.rows], {}) for table in study.tables]
    for folder in sets:
        dataset = DataSet.open(folder)
        for task, split, lenient in dict.fromkeys(_rules(beside.table) for beside in found):
            if task not in dataset.tasks:
                continue
            here = [beside for beside in found if _rules(beside.table) == (task, split, lenient)]
            systems = _systems(line.row for beside in here for line in beside.lines if line.status == MEASURED)
            if not systems:
                continue
            try:
                further = sorted({name for beside in here for name in beside.table.measures if is_overlap(name)})
                evaluation = Evaluation(
                    folder, task, split, sample, seed, lenient=lenient, measures=further, progress=progress, watcher=watcher
                )
                experiment = evaluation.conduct(list(systems.values()))
            except CitewellError as error:
                for beside in here:
                    beside.failed[dataset.name] = str(error)
                continue
            outcomes = {outcome.name: outcome for outcome in experiment.outcomes}
            for beside in here:
                beside.queries[dataset.name] = len(experiment.questions)
                for line in beside.lines:
                    if line.status == MEASURED:
                        outcome = outcomes[label(line.row.pipeline, line.row.settings)]
                        present = [name for name in beside.table.measures if name in outcome.values]
                        line.ours[dataset.name] = {name: outcome.mean(name) for name in present}
    return found


def as_json(name: str, study: Study, found: Sequence[Beside], sample: int | None, seed: int) -> dict[str, Any]:
    return {
        "study": name,
        "citation": study.citation,
        "note": "the study's figures and ours stand on different data",
        "sample": sample,
        "seed": seed,
        "tables": [
            {
                "name": beside.table.name,
                "caption": beside.table.caption,
                "task": beside.table.task,
                "split": beside.table.split,
                "lenient": beside.table.lenient,
                "queries": beside.queries,
                "failed": beside.failed,
                "rows": [
                    {
                        "method": line.row.method,
                        "published": dict(zip(beside.table.columns, line.row.values, strict=False)),
                        "pipeline": line.row.pipeline,
                        "settings": line.row.settings,
                        "status": line.status,
                        "ours": line.ours,
                    }
                    for line in beside.lines
                ],
            }
            for beside in found
        ],
    }


def print_study(study: Study, found: Sequence[Beside], console: Console) -> None:
    """Every table of the study with ours at its right."""
    console.print(study.citation, style="bold", highlight=False)
    console.print(study.about, highlight=False)
    for beside in found:
        console.print()
        _print_table(beside, console)


def _print_table(beside: Beside, console: Console) -> None:
    import rich.box
    from rich.table import Table as RichTable

    asked = ", ".join(f"{name} ({count:,} queries)" for name, count in beside.queries.items())
    console.print(f"{beside.table.name}: {beside.table.caption}", style="bold", highlight=False)
    lenient = ", lenient as the study" if beside.table.lenient else ""
    rules = f"OTHER DATA, {asked}, {beside.table.split} split, strict in time{lenient}"
    console.print(f"ours: {rules if asked else 'no set at hand has this task'}", style="yellow", highlight=False)
    for name, reason in beside.failed.items():
        console.print(f"ours: {name} is left out: {reason}", style="yellow", highlight=False)
    table = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in beside.table.columns:
        table.add_column(column, justify="right")
    table.add_column("our pipeline", style="cyan")
    for name in beside.queries:
        for measure in beside.table.measures:
            table.add_column(f"{name} {measure}", justify="right", style="cyan")
    for line in beside.lines:
        published = [*line.row.values, *[math.nan] * (len(beside.table.columns) - len(line.row.values))]
        status = {MISSING: f"missing: {line.row.pipeline}", NONE: ""}.get(
            line.status, label(line.row.pipeline, line.row.settings)
        )
        figures = [
            _figure(line.ours.get(name, {}).get(measure)) for name in beside.queries for measure in beside.table.measures
        ]
        table.add_row(line.row.method, *map(_printed, published), status, *figures)
    console.print(table)


def _rules(table: Table) -> tuple[str, str, bool]:
    return table.task, table.split, table.lenient


def _systems(rows: Iterable[Row]) -> dict[str, Pipeline]:
    """The pipelines of some rows under their settings, each once."""
    systems = {}
    for row in rows:
        name = label(row.pipeline, row.settings)
        systems[name] = replace(pipeline(row.pipeline, **row.settings), name=name)
    return systems


def _printed(value: float) -> str:
    """A figure as the study has it."""
    return "?" if math.isnan(value) else f"{value:g}" if abs(value) < 0.001 or value >= 10 else f"{value:.4f}".rstrip("0")


def _figure(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.4f}"
