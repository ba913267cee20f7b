"""A published study next to our own measurements: its tables row by row, and the same methods on the available sets.

Our figures are from other data than the study's, so they compare methods, not papers. They are strict in time; a table whose
study has a rule of its own (missed papers inserted, or only the queries whose paper the first stage finds) is measured under
that rule too. Every figure is kept as soon as it is measured, so an interrupted run resumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from citewell import extras
from citewell.errors import CitewellError
from citewell.evaluate import measures, significance
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.outcomes import Experiment, run_systems
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.results_cache import Result, ResultsCache, Value, queries_fingerprint, result_key
from citewell.evaluate.set_libraries import SetLibraries, Train
from citewell.evaluate.sets import DataSet
from citewell.evaluate.studies import Row, Study, Table
from citewell.evaluate.trec import read_run
from citewell.evaluate.tuning import label
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline
from citewell.progress import SILENT, Progress

MEASURED, MISSING, NONE = "measured", "missing", "no pipeline"
Figures = dict[str, Result]
"""Set to its result."""
QUICK_DEPTH = 20
"""How many papers a re-ranker reads at most in a quick run."""
STRICT, STUDY = "strict", "study"
"""The rules: ours, and the study's own where it differs."""


def no_training(model: str) -> bool:
    """The default of `can_train`: no model can be trained."""
    return False


@dataclass(frozen=True)
class Plan:
    """On what a study is measured, and what may be trained for it."""

    sets: Sequence[Path]
    sample: int | None = None
    seed: int = 0
    quick: bool = False
    """Re-rankers read few papers: the figures show that everything works, nothing more."""
    train: Train | None = None
    """Makes a missing model of a set's library; without it, rows that need the model are missing."""
    can_train: Callable[[str], bool] = no_training
    """Whether `train` can make a given model."""
    progress: Progress = SILENT
    runs: Path | None = None
    """A folder of rankings made elsewhere (`run_file`), which stand in for running the pipelines."""


@dataclass
class ReproducedRow:
    """One row of a study, and our figures."""

    row: Row
    status: str
    figures: dict[str, Figures] = field(default_factory=lambda: {STRICT: {}, STUDY: {}})
    """By rule."""
    failed: dict[str, str] = field(default_factory=dict)
    """Set on which the row could not be measured to the reason."""
    runs: list[str] = field(default_factory=list)
    """The files of rankings that stood in for running the pipeline."""

    def value(self, rule: str, name: str, measure: str) -> float:
        """Our figure, NaN if there is none."""
        result = self.figures[rule].get(name)
        value = result.values.get(measure, Value(None)).mean if result else None
        return math.nan if value is None else value


@dataclass
class ReproducedTable:
    """One table of a study, and our figures."""

    table: Table
    rows: list[ReproducedRow]
    queries: dict[str, dict[str, int]] = field(default_factory=lambda: {STRICT: {}, STUDY: {}})
    """By rule, set to its number of queries."""
    failed: dict[str, str] = field(default_factory=dict)
    """Set that could not be measured to the reason."""

    @property
    def rules(self) -> list[str]:
        """The rules under which the table is measured."""
        return [STRICT, STUDY] if self.table.lenient or self.table.found_by else [STRICT]


def status(row: Row, can_train: Callable[[str], bool] = no_training) -> str:
    """Whether a row can be measured: its pipeline exists, its weights are installed, and its models can be trained."""
    if not row.pipeline:
        return NONE
    if row.pipeline not in definitions():
        return MISSING
    chosen = pipeline(row.pipeline)
    return MEASURED if not chosen.missing_weights() and all(map(can_train, chosen.models())) else MISSING


def reproduce(study: Study, plan: Plan) -> list[ReproducedTable]:
    """Measure every available method of a study on every set that has the task."""
    anything: Callable[[str], bool] = plan.can_train if plan.train else lambda model: True  # checked for each library
    tables = [
        ReproducedTable(table, [ReproducedRow(row, status(row, anything)) for row in table.rows]) for table in study.tables
    ]
    for folder in plan.sets:
        dataset = DataSet.open(folder)
        for each in tables:
            for row in each.rows:
                if run_file(plan, dataset.name, each.table.split, row.row):
                    row.status = MEASURED
        for task, split, conditions in dict.fromkeys(_queries(each.table) for each in tables):
            here = [each for each in tables if _queries(each.table) == (task, split, conditions)]
            if task not in dataset.tasks or not any(row.status == MEASURED for each in here for row in each.rows):
                continue
            try:
                runs = _Runs(plan, folder, task, split, dict(conditions))
                for lenient, found_by, tables_of_rule, rule in _rules(here):
                    runs.measure(tables_of_rule, rule, lenient, found_by)
            except CitewellError as error:
                for each in here:
                    each.failed[dataset.name] = str(error)
    return tables


def run_file(plan: Plan, name: str, split: str, row: Row, lenient: bool = False) -> Path | None:
    """The ranking of a row made elsewhere: ``SET/SPLIT/PIPELINE.run``, or ``PIPELINE.inserted.run`` with inserted papers.

    Runs are those of pipelines without settings. They may be compressed (``.run.gz``).
    """
    if plan.runs is None or not row.pipeline or row.settings:
        return None
    path = plan.runs / name / split / f"{row.pipeline}{'.inserted' if lenient else ''}.run"
    return next((each for each in (path, path.with_name(f"{path.name}.gz")) if each.is_file()), None)


def _queries(table: Table) -> tuple[str, str, tuple[tuple[str, Any], ...]]:
    """What determines the queries of a table and their library."""
    return table.task, table.split, tuple(table.conditions().items())


def systems(rows: Iterable[Row], quick: bool = False) -> dict[str, Pipeline]:
    """The pipelines of some rows with their settings, without duplicates."""
    made = {}
    for row in rows:
        name = label(row.pipeline, row.settings)
        made[name] = replace(pipeline(row.pipeline, **row.settings, **(_quick(row) if quick else {})), name=name)
    return made


def _quick(row: Row) -> dict[str, Any]:
    """Settings that let re-rankers and navigation read few papers."""
    chosen: dict[str, Any] = {}
    for stage in pipeline(row.pipeline, **row.settings).stages[1:]:
        chosen |= {name: QUICK_DEPTH for name in ("depth", "total") if getattr(stage, name, 0) > QUICK_DEPTH}
        seeds = getattr(stage, "seeds", None)
        if isinstance(seeds, tuple):
            chosen["seeds"] = [min(each, QUICK_DEPTH) for each in seeds]
    return {name: value for name, value in chosen.items() if name not in row.settings}


def _rules(tables: Sequence[ReproducedTable]) -> Iterator[tuple[bool, str, list[ReproducedTable], str]]:
    """Each rule and the tables that are measured under it: every table strictly, and some under the rule of their study."""
    yield False, "", list(tables), STRICT
    own: dict[tuple[bool, str], list[ReproducedTable]] = {}
    for each in tables:
        if STUDY in each.rules:
            own.setdefault((each.table.lenient, each.table.found_by), []).append(each)
    for (lenient, found_by), of_rule in own.items():
        yield lenient, found_by, of_rule, STUDY


class _Runs:
    """Measures the rows of tables on one task and split of a set."""

    def __init__(self, plan: Plan, folder: Path, task: str, split: str, conditions: dict[str, Any]) -> None:
        extras.require("ir_measures", "scipy")
        self._plan = plan
        self._evaluation = Evaluation(
            folder, task, split, plan.sample, plan.seed, progress=plan.progress, train=plan.train, **conditions
        )
        self._name = self._evaluation.dataset.name
        self._conditions = conditions
        self._queries: list[JudgedQuery] = self._evaluation.queries()
        self._fingerprint = queries_fingerprint(self._evaluation.dataset.digest(False), self._queries)
        self._kept = ResultsCache()

    def measure(self, tables: Sequence[ReproducedTable], rule: str, lenient: bool, found_by: str) -> None:
        """Fill in the rows of the tables under one rule."""
        rows = [row for each in tables for row in each.rows if row.status == MEASURED and self._name not in row.failed]
        names = list(
            dict.fromkeys((*measures.STANDARD, *(name for each in tables for name in each.table.measures if ":" not in name)))
        )
        results = self._results(rows, names, lenient, found_by)
        for each in tables:
            for row in each.rows:
                if row.status == MEASURED and (result := results.get(label(row.row.pipeline, row.row.settings))):
                    row.figures[rule][self._name] = result
                    each.queries[rule][self._name] = result.queries

    def _results(self, rows: Sequence[ReproducedRow], names: Sequence[str], lenient: bool, found_by: str) -> dict[str, Result]:
        """The results of the systems of some rows: those that were kept, and the others measured now."""
        elsewhere, results = self._from_runs(rows, names, lenient, found_by)
        rows = [row for row in rows if id(row) not in elsewhere and row.row.pipeline in definitions()]
        chosen = systems((row.row for row in rows), self._plan.quick)
        libraries = self._evaluation.libraries()
        left: list[Pipeline] = []
        for name, system in chosen.items():
            if missing := self._not_there(libraries, system):
                for row in rows:
                    if label(row.row.pipeline, row.row.settings) == name:
                        row.failed[self._name] = missing
            elif kept := self._kept.get(self._key(libraries, system, lenient, found_by), names):
                results[name] = kept
            else:
                left.append(system)
        # What runs a model takes long, so it is kept as soon as it is measured; the others share the work on libraries.
        groups = [[each for each in left if not each.uses_models()], *([each] for each in left if each.uses_models())]
        for group in filter(None, groups):
            try:
                experiment = self._run(group, libraries, names, lenient, found_by)
            except CitewellError as error:
                failed = [each.name for each in group]
                for row in rows:
                    if label(row.row.pipeline, row.row.settings) in failed:
                        row.failed[self._name] = str(error)
                continue
            for system, result in zip(group, self._summaries(experiment), strict=True):
                results[system.name] = result
                self._kept.put(self._key(libraries, system, lenient, found_by), result)
        return results

    def _run(
        self, group: Sequence[Pipeline], libraries: SetLibraries, names: Sequence[str], lenient: bool, found_by: str
    ) -> Experiment:
        finder = pipeline(found_by) if found_by else None
        return run_systems(
            self._queries, libraries, group, names=names, lenient=lenient, progress=self._plan.progress, found_by=finder
        )

    def _summaries(self, experiment: Experiment) -> list[Result]:
        """The means of each system, with their intervals."""
        results = []
        for outcome in experiment.outcomes:
            known = [name for name in outcome.values if not math.isnan(outcome.mean(name))]
            spread = significance.intervals(outcome.values, known, self._plan.seed)
            values = dict.fromkeys(outcome.values, Value(None))
            values |= {name: Value(outcome.mean(name), *spread[name]) for name in known}
            results.append(Result(len(experiment.queries), values))
        return results

    def _from_runs(
        self, rows: Sequence[ReproducedRow], names: Sequence[str], lenient: bool, found_by: str
    ) -> tuple[set[int], dict[str, Result]]:
        """The rows (their `id`) whose rankings were made elsewhere, and the results by pipeline."""
        split = self._evaluation.split
        files = {id(row): path for row in rows if (path := run_file(self._plan, self._name, split, row.row, lenient))}
        results: dict[str, Result] = {}
        for row in (row for row in rows if id(row) in files):
            path = files[id(row)]
            row.runs = list(dict.fromkeys([*row.runs, str(path)]))
            if row.row.pipeline in results:
                continue
            finder = pipeline(found_by) if found_by else None
            run = {row.row.pipeline: read_run(path)}
            libraries, progress = self._evaluation.libraries(), self._plan.progress
            made = run_systems(
                self._queries, libraries, [], run, names=names, lenient=lenient, progress=progress, found_by=finder
            )
            if missing := made.outcomes[0].missing:
                row.failed[self._name] = f"{path} lacks {missing} of the queries; make it with the same sample and seed"
            else:
                results[row.row.pipeline] = self._summaries(made)[0]
        return set(files), results

    def _not_there(self, libraries: SetLibraries, system: Pipeline) -> str:
        """Why a system cannot run: weights are not installed, or models of the set's libraries may not be trained."""
        if weights := system.missing_weights():
            return f"not installed: {', '.join(weights)}"
        if self._plan.train:
            return ""
        missing = [name for (_, name), file in self._models(libraries, system).items() if not file]
        return f"not trained: {', '.join(dict.fromkeys(missing))}" if missing else ""

    def _models(self, libraries: SetLibraries, system: Pipeline) -> dict[tuple[int, str], str]:
        return libraries.model_files(libraries.ends(judged.date for judged in self._queries), sorted(system.models()))

    def _key(self, libraries: SetLibraries, system: Pipeline, lenient: bool, found_by: str) -> str:
        finder = pipeline(found_by) if found_by else None
        weights = system.fingerprints() | (finder.fingerprints() if finder else {})
        models = [f"{date} {name} {file}" for (date, name), file in self._models(libraries, system).items()]
        rule = (lenient, finder.key if finder else "", *sorted(self._conditions.items()))
        return result_key(system.key, weights, models, self._fingerprint, rule, self._plan.seed)
