"""Tuning: a pipeline under every setting of a grid, measured on dev years, which is all that choices may be made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.experiment import conduct
from citewell.pipeline.registry import pipeline

Grid = dict[str, list[Any]]
"""The values to try of each parameter."""


@dataclass
class Point:
    """One setting, and what it reached."""

    settings: dict[str, Any]
    value: float


@dataclass
class Tuning:
    """All points of a grid, in its order."""

    pipeline: str
    measure: str
    grid: Grid
    queries: int
    points: list[Point]

    @property
    def best(self) -> Point:
        return max(self.points, key=lambda point: point.value)

    def matrix(self) -> npt.NDArray[np.float64]:
        """Of a grid with two parameters the values, a row for each value of the second."""
        first, second = self.grid.values()
        return np.array([point.value for point in self.points]).reshape(len(first), len(second)).T


def parse_grid(items: Sequence[str]) -> Grid:
    """``k1=0.5,1.2`` and the like as a grid."""
    grid: Grid = {}
    for item in items:
        name, equals, values = item.partition("=")
        if not (name and equals and values):
            raise CitewellError(f"{item!r} is not a part of a grid; write k1=0.5,1.2,2.5")
        if "" in values.split(","):
            raise CitewellError(f"{item!r} has an empty value; write k1=0.5,1.2,2.5")
        grid[name] = list(dict.fromkeys(_value(value) for value in values.split(",")))
    if not grid:
        raise CitewellError("say what to try: --grid k1=0.5,1.2,2.5 b=0.25,0.5,0.75")
    return grid


def tune(evaluation: Evaluation, name: str, grid: Grid, measure: str) -> Tuning:
    """Measure a pipeline under every setting of a grid."""
    if evaluation.split != "dev":
        raise CitewellError("tuning is done on the dev split alone; the test split is for the report")
    measures.check([measure])
    chosen = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    pipelines = [replace(pipeline(name, **settings), name=label(name, settings)) for settings in chosen]
    questions = evaluation.questions()
    experiment = conduct(questions, evaluation.pools(), pipelines, names=[measure], watcher=evaluation.watcher)
    values = [outcome.mean(measure) for outcome in experiment.outcomes]
    points = [Point(settings, value) for settings, value in zip(chosen, values, strict=True)]
    return Tuning(name, measure, grid, len(questions), points)


def label(name: str, settings: Mapping[str, Any]) -> str:
    """A pipeline under settings of its own, as tables name it."""
    return f"{name} ({', '.join(f'{key}={value}' for key, value in settings.items())})" if settings else name


def _value(text: str) -> Any:
    """A number where it is one, several where they are joined by ``+``, else the text."""
    if "+" in text:
        parts = [_value(part) for part in text.split("+")]
        return text if any(isinstance(part, str) for part in parts) else tuple(parts)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
