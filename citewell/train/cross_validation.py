"""Tunes the settings of a recipe by cross-validation over its train queries, as AUEB tuned the two loss weights of JPDRMM.

Every setting of a grid is trained once for each fold, without it, and measured on it. Dev and test are not looked at. The
folder keeps the training data, the word vectors (which use no labels, so that all cells share them) and a line for each
finished cell: the same command continues an interrupted tuning, and a larger grid reuses the cells of a smaller one.
"""

from __future__ import annotations

import json
import math
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from citewell import processes
from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.progress import SILENT, Progress
from citewell.train.fingerprints import fingerprint
from citewell.train.fold_training import DATA, PAPERS, PLAN, SENTENCES, FoldTraining, Plan, hyperparameters
from citewell.train.recipe import EvidenceRecipe

MEASURES = (PAPERS, SENTENCES)
MEAN = "mean"
"""The mean of the measures, by which the settings are chosen unless one measure is named."""
CELLS = "cells.jsonl"
_WORKER = "citewell.train.fold_training:main"


@dataclass
class Figure:
    """A measure over the folds."""

    mean: float
    spread: float
    """The standard deviation over the folds."""

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


@dataclass
class SettingFigures:
    """The measures of one setting."""

    settings: dict[str, Any]
    figures: dict[str, Figure]


@dataclass
class CrossValidation:
    """The measures of every setting of a grid."""

    recipe: str
    folds: int
    queries: int
    measure: str
    rows: list[SettingFigures]
    bm25: Figure
    """The average precision of papers in BM25's own order."""

    @property
    def best(self) -> SettingFigures:
        return max(self.rows, key=lambda row: row.figures[self.measure].mean)

    @property
    def alike(self) -> list[SettingFigures]:
        """The settings less than one standard error below the best."""
        figure = self.best.figures[self.measure]
        bar = figure.mean - figure.spread / math.sqrt(self.folds)
        return [row for row in self.rows if row.figures[self.measure].mean >= bar]


def tune_recipe(
    recipe: EvidenceRecipe,
    sets: Sequence[Path],
    grid: Mapping[str, Sequence[Any]],
    folder: Path,
    folds: int,
    measure: str = MEAN,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress = SILENT,
) -> CrossValidation:
    """Train and measure every setting of the grid on every fold; resumes an interrupted tuning."""
    from citewell.train.from_evidence import training_module

    if measure not in (*MEASURES, MEAN):
        raise CitewellError(f"a recipe is tuned by {', '.join((*MEASURES, MEAN))}, not by {measure!r}")
    module, _ = training_module(recipe)
    if not hasattr(module, "fit_on"):
        raise CitewellError(f"the recipe {recipe.name!r} learns without queries, so there are no folds to tune it on")
    settings = []
    for values in product(*grid.values()):
        numbers = hyperparameters(recipe, dict(zip(grid, values, strict=True)))
        settings.append({name: getattr(numbers, name) for name in grid})
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / "tuning.lock", timeout=0):
            training = _prepare(recipe, sets, folder, folds, seed, progress)
            done = _run(training, settings, folder, jobs, progress)
    except Timeout:
        raise CitewellError(f"another tuning is writing to {folder}; wait for it to end, or choose another folder") from None
    rows = [SettingFigures(each, _figures([done[_key(each, fold)] for fold in range(folds)])) for each in settings]
    bm25 = Figure.of([training.bm25(settings[0], fold) for fold in range(folds)])
    return CrossValidation(recipe.name, folds, sum(map(len, training.folds)), measure, rows, bm25)


def _prepare(
    recipe: EvidenceRecipe, sets: Sequence[Path], folder: Path, folds: int, seed: int, progress: Progress
) -> FoldTraining:
    """Collect the data and train the word vectors, unless the folder has them."""
    from citewell.train.from_evidence import word_vectors
    from citewell.train.sentence_data import load_or_collect

    data = load_or_collect(folder / DATA, sets, recipe.queries, progress)
    plan = msgspec.json.encode(Plan(msgspec.structs.replace(recipe, tuning={}), folds, seed, fingerprint([folder / DATA])))
    if (folder / PLAN).exists() and (folder / PLAN).read_bytes() != plan:
        raise CitewellError(
            f"{folder} has a tuning of another recipe, or with other folds; choose another folder, or remove it"
        )
    word_vectors(recipe, data, folder / DATA, folder, progress)
    write_atomically(folder / PLAN, plan, durable=False)
    return FoldTraining(folder)


def _run(
    training: FoldTraining, settings: Sequence[dict[str, Any]], folder: Path, jobs: int, progress: Progress
) -> dict[str, dict[str, Any]]:
    """Run the cells that are missing; returns all finished cells."""
    done = _finished(folder / CELLS)
    cells = [(each, fold) for fold in range(training.plan.folds) for each in settings]
    missing = [(each, fold) for each, fold in cells if _key(each, fold) not in done]
    jobs = max(1, min(jobs, len(missing)))
    if missing:
        step, query = training.timing(missing[0][0])
        seconds = sum(step * training.steps(each) + query * len(training.folds[fold]) for each, fold in missing) / jobs
        progress.message(
            f"{len(cells):,} trainings ({len(settings):,} settings, {training.plan.folds} folds),"
            f" {len(cells) - len(missing):,} done; about {_minutes(seconds)} for the others in {_processes(jobs)}"
        )
    progress.start("tuning", len(cells), "trainings")
    progress.advance(len(cells) - len(missing))
    with (folder / CELLS).open("a", encoding="utf-8") as stream:
        for cell in _in_processes(missing, folder, jobs):
            stream.write(json.dumps(cell) + "\n")
            stream.flush()
            done[_key(cell["settings"], cell["fold"])] = cell
            progress.advance()
    return done


def _finished(path: Path) -> dict[str, dict[str, Any]]:
    """The finished cells; a line that was cut off by a kill is removed from the file."""
    if not path.exists():
        return {}
    whole = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    write_atomically(path, b"".join(whole), durable=False)
    cells = [json.loads(line) for line in whole]
    return {_key(cell["settings"], cell["fold"]): cell for cell in cells}


def _key(settings: Mapping[str, Any], fold: int) -> str:
    return json.dumps([settings, fold], sort_keys=True)


def _in_processes(cells: Sequence[tuple[dict[str, Any], int]], folder: Path, jobs: int) -> Iterator[dict[str, Any]]:
    """The finished cells, as the workers return them."""
    todo: queue.SimpleQueue[tuple[dict[str, Any], int]] = queue.SimpleQueue()
    for cell in cells:
        todo.put(cell)
    results: queue.SimpleQueue[dict[str, Any] | CitewellError] = queue.SimpleQueue()
    workers = [_Worker(folder, todo, results) for _ in range(min(jobs, len(cells)))]
    try:
        for _ in cells:
            result = results.get()
            if isinstance(result, CitewellError):
                raise result
            yield result
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that trains cells, and a thread that feeds it."""

    def __init__(
        self,
        folder: Path,
        todo: queue.SimpleQueue[tuple[dict[str, Any], int]],
        results: queue.SimpleQueue[dict[str, Any] | CitewellError],
    ) -> None:
        self._process = subprocess.Popen(
            processes.command(_WORKER, str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=processes.environment(1),
            text=True,
        )
        self._todo, self._results = todo, results
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _feed(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        while True:
            try:
                settings, fold = self._todo.get_nowait()
            except queue.Empty:
                return
            try:
                self._process.stdin.write(json.dumps({"settings": settings, "fold": fold}) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except OSError:
                line = ""
            if not line:
                self._results.put(CitewellError(f"a training with {settings} failed; its error is above"))
                return
            self._results.put(json.loads(line))


def _figures(cells: Sequence[Mapping[str, Any]]) -> dict[str, Figure]:
    """The measures over the folds, and their mean."""
    figures = {name: Figure.of([cell[name] for cell in cells]) for name in MEASURES if all(name in cell for cell in cells)}
    means = [float(np.mean([cell[name] for name in figures])) for cell in cells]
    return {**figures, MEAN: Figure.of(means)}


def _processes(jobs: int) -> str:
    return "one process" if jobs == 1 else f"{jobs} processes"


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
