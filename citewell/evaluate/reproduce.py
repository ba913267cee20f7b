"""A published study next to our own measurements: its tables row by row, and the same methods on the available sets.

Our figures are from other data than the study's, so they compare methods, not papers. A row whose pipeline is not available
is shown as missing; a row without a pipeline of ours is left blank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.measures import STANDARD
from citewell.evaluate.set_libraries import Train
from citewell.evaluate.sets import DataSet
from citewell.evaluate.studies import Row, Study, Table
from citewell.evaluate.tuning import label
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline
from citewell.progress import SILENT, Progress

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
        for task, split, lenient, found_by, abstracts_only in dict.fromkeys(_rules(each.table) for each in tables):
            if task not in dataset.tasks:
                continue
            here = [each for each in tables if _rules(each.table) == (task, split, lenient, found_by, abstracts_only)]
            systems = _systems(row.row for each in here for row in each.rows if row.status == MEASURED)
            if not systems:
                continue
            try:
                named = {name for each in here for name in each.table.measures if ":" not in name}
                further = sorted(named.difference(STANDARD))
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
                    abstracts_only=abstracts_only,
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


def _rules(table: Table) -> tuple[str, str, bool, str, bool]:
    return table.task, table.split, table.lenient, table.found_by, table.abstracts_only


def _systems(rows: Iterable[Row]) -> dict[str, Pipeline]:
    """The pipelines of some rows with their settings, without duplicates."""
    systems = {}
    for row in rows:
        name = label(row.pipeline, row.settings)
        systems[name] = replace(pipeline(row.pipeline, **row.settings), name=name)
    return systems
