"""A published study next to our own measurements: its tables row by row, and the same methods on the available sets.

Our figures are from other data than the study's, so they compare methods, not papers. A row whose pipeline is not available
is shown as missing; a row without a pipeline of ours is left blank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.set_libraries import Train
from citewell.evaluate.sets import DataSet
from citewell.evaluate.studies import Row, Study, Table
from citewell.evaluate.term_overlap import is_overlap
from citewell.evaluate.tuning import label
from citewell.pipeline.contract import TrainedModel, Vectors
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline
from citewell.progress import SILENT, Progress

if TYPE_CHECKING:
    from rich.console import Console

MEASURED, MISSING, NONE = "measured", "missing", "no pipeline"
Figures = dict[str, dict[str, float]]
"""Set to measure to value."""


def no_training(model: str) -> bool:
    """The default of `can_train`: no model can be trained."""
    return False


def _status(row: Row, can_train: Callable[[str], bool]) -> str:
    """Whether a row can be measured: its pipeline exists, its weights are installed, and its models can be trained."""
    if not row.pipeline:
        return NONE
    if row.pipeline not in definitions():
        return MISSING
    chosen = pipeline(row.pipeline)
    return MEASURED if not chosen.missing_weights() and all(map(can_train, chosen.models())) else MISSING


@dataclass
class ReproducedRow:
    """One row of a study, and our figures."""

    row: Row
    status: str
    ours: Figures = field(default_factory=dict)


@dataclass
class ReproducedTable:
    """One table of a study, and our figures."""

    table: Table
    rows: list[ReproducedRow]
    queries: dict[str, int]
    """Set to its number of queries."""
    failed: dict[str, str] = field(default_factory=dict)
    """Set that could not be measured to the reason."""


def reproduce(
    study: Study,
    sets: Sequence[Path],
    sample: int | None,
    seed: int = 0,
    progress: Progress = SILENT,
    train: Train | None = None,
    can_train: Callable[[str], bool] = no_training,
) -> list[ReproducedTable]:
    """Measure every available method of a study on every set that has the task.

    `train` makes missing models of the set's library; `can_train` says whether it can make a given one.
    """
    tables = [
        ReproducedTable(table, [ReproducedRow(row, _status(row, can_train)) for row in table.rows], {})
        for table in study.tables
    ]
    for folder in sets:
        dataset = DataSet.open(folder)
        for task, split, lenient, found_by in dict.fromkeys(_rules(each.table) for each in tables):
            if task not in dataset.tasks:
                continue
            here = [each for each in tables if _rules(each.table) == (task, split, lenient, found_by)]
            systems = _systems(row.row for each in here for row in each.rows if row.status == MEASURED)
            if not systems:
                continue
            try:
                further = sorted({name for each in here for name in each.table.measures if is_overlap(name)})
                evaluation = Evaluation(
                    folder,
                    task,
                    split,
                    sample,
                    seed,
                    lenient=lenient,
                    found_by=found_by,
                    measures=further,
                    progress=progress,
                    train=train,
                )
                experiment = evaluation.run(list(systems.values()))
            except CitewellError as error:
                for each in here:
                    each.failed[dataset.name] = str(error)
                continue
            outcomes = {outcome.name: outcome for outcome in experiment.outcomes}
            for each in here:
                each.queries[dataset.name] = len(experiment.queries)
                for row in each.rows:
                    if row.status == MEASURED:
                        outcome = outcomes[label(row.row.pipeline, row.row.settings)]
                        present = [name for name in each.table.measures if name in outcome.values]
                        row.ours[dataset.name] = {name: outcome.mean(name) for name in present}
    return tables


def as_json(name: str, study: Study, tables: Sequence[ReproducedTable], sample: int | None, seed: int) -> dict[str, Any]:
    return {
        "study": name,
        "citation": study.citation,
        "note": "the study's figures and ours are from different data",
        "sample": sample,
        "seed": seed,
        "tables": [
            {
                "name": each.table.name,
                "caption": each.table.caption,
                "task": each.table.task,
                "split": each.table.split,
                "lenient": each.table.lenient,
                "found_by": each.table.found_by,
                "percent": each.table.percent,
                "queries": each.queries,
                "failed": each.failed,
                "rows": [
                    {
                        "method": row.row.method,
                        "published": dict(zip(each.table.columns, row.row.values, strict=False)),
                        "pipeline": row.row.pipeline,
                        "settings": row.row.settings,
                        "weights": weights(row.row),
                        "status": row.status,
                        "ours": row.ours,
                    }
                    for row in each.rows
                ],
            }
            for each in tables
        ],
    }


def print_study(study: Study, tables: Sequence[ReproducedTable], console: Console) -> None:
    """Print every table of the study with our figures at the right."""
    console.print(study.citation, style="bold", highlight=False)
    console.print(study.about, highlight=False)
    for table in tables:
        console.print()
        _print_table(table, console)


def _print_table(reproduced: ReproducedTable, console: Console) -> None:
    import rich.box
    from rich.table import Table as RichTable

    sets = ", ".join(f"{name} ({count:,} queries)" for name, count in reproduced.queries.items())
    console.print(f"{reproduced.table.name}: {reproduced.table.caption}", style="bold", highlight=False)
    asked = reproduced.table
    lenient = ", lenient like the study: missed papers are put among the candidates before re-ranking" if asked.lenient else ""
    found = f", only the queries whose relevant paper {asked.found_by} retrieves, like the study" if asked.found_by else ""
    rules = f"OTHER DATA, {sets}, {asked.split} split, strict in time{lenient}{found}"
    console.print(f"ours: {rules if sets else 'no available set has this task'}", style="yellow", highlight=False)
    for name, reason in reproduced.failed.items():
        console.print(f"ours: {name} was not measured: {reason}", style="yellow", highlight=False)
    table = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in reproduced.table.columns:
        table.add_column(column, justify="right")
    table.add_column("our pipeline", style="cyan")
    for name in reproduced.queries:
        for measure in asked.measures:
            table.add_column(f"{name} {measure}{' %' if asked.percent else ''}", justify="right", style="cyan")
    for row in reproduced.rows:
        published = [*row.row.values, *[math.nan] * (len(reproduced.table.columns) - len(row.row.values))]
        status = {MISSING: f"missing: {row.row.pipeline}", NONE: ""}.get(row.status, _described(row.row))
        figures = [
            _figure(row.ours.get(name, {}).get(measure), asked.percent)
            for name in reproduced.queries
            for measure in asked.measures
        ]
        table.add_row(row.row.method, *map(_printed, published), status, *figures)
    console.print(table)


def _rules(table: Table) -> tuple[str, str, bool, str]:
    return table.task, table.split, table.lenient, table.found_by


def _systems(rows: Iterable[Row]) -> dict[str, Pipeline]:
    """The pipelines of some rows with their settings, without duplicates."""
    systems = {}
    for row in rows:
        name = label(row.pipeline, row.settings)
        systems[name] = replace(pipeline(row.pipeline, **row.settings), name=name)
    return systems


def _printed(value: float) -> str:
    """A figure as the study prints it."""
    return "?" if math.isnan(value) else f"{value:g}" if abs(value) < 0.001 or value >= 10 else f"{value:.4f}".rstrip("0")


def _figure(value: float | None, percent: bool) -> str:
    return "" if value is None or math.isnan(value) else f"{100 * value:.2f}" if percent else f"{value:.4f}"


def weights(row: Row) -> list[str]:
    """The models whose weights our pipeline of a row uses, which need not be those of the study."""
    needed = pipeline(row.pipeline, **row.settings).requirements() if row.pipeline in definitions() else []
    names = [need.encoder if isinstance(need, Vectors) else need.name for need in needed if not isinstance(need, TrainedModel)]
    return list(dict.fromkeys(names))


def _described(row: Row) -> str:
    """Our pipeline of a row, and whose weights it uses."""
    used = weights(row)
    return f"{label(row.pipeline, row.settings)}{f' (weights: {chr(44).join(used)})' if used else ''}"
