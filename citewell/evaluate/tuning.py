"""Grid search: measures a pipeline with every setting of a grid on the dev years, the only ones to make choices on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.outcomes import run_systems
from citewell.pipeline.registry import pipeline
from citewell.types import Float64Array

Grid = dict[str, list[Any]]
"""Parameter to the values to try."""


@dataclass
class Point:
    """One setting and its value of the measure."""

    settings: dict[str, Any]
    value: float


@dataclass
class Tuning:
    """All points of a grid, in order."""

    pipeline: str
    measure: str
    grid: Grid
    queries: int
    points: list[Point]

    @property
    def best(self) -> Point:
        return max(self.points, key=lambda point: point.value)

    def matrix(self) -> Float64Array:
        """The values of a grid with two parameters, one row for each value of the second."""
        first, second = self.grid.values()
        return np.array([point.value for point in self.points]).reshape(len(first), len(second)).T


def parse_grid(items: Sequence[str]) -> Grid:
    """``k1=0.5,1.2`` and the like as a grid."""
    grid: Grid = {}
    for item in items:
        name, equals, values = item.partition("=")
        if not (name and equals and values):
            raise CitewellError(f"{item!r} is not a parameter with values; write k1=0.5,1.2,2.5")
        if "" in values.split(","):
            raise CitewellError(f"{item!r} has an empty value; write k1=0.5,1.2,2.5")
        grid[name] = list(dict.fromkeys(_value(value) for value in values.split(",")))
    if not grid:
        raise CitewellError("the grid is empty; give values to try: --grid k1=0.5,1.2,2.5 b=0.25,0.5,0.75")
    return grid


def tune(evaluation: Evaluation, name: str, grid: Grid, measure: str) -> Tuning:
    """Measure a pipeline with every setting of a grid."""
    if evaluation.split != "dev":
        raise CitewellError("tune on the dev split; the test split is for the report")
    measures.check([measure])
    chosen = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    pipelines = [replace(pipeline(name, **settings), name=label(name, settings)) for settings in chosen]
    queries = evaluation.queries()
    experiment = run_systems(queries, evaluation.libraries(), pipelines, names=[measure], progress=evaluation.progress)
    values = [outcome.mean(measure) for outcome in experiment.outcomes]
    points = [Point(settings, value) for settings, value in zip(chosen, values, strict=True)]
    return Tuning(name, measure, grid, len(queries), points)


def label(name: str, settings: Mapping[str, Any]) -> str:
    """The name of a pipeline with settings in tables."""
    return f"{name} ({', '.join(f'{key}={value}' for key, value in settings.items())})" if settings else name


def _value(text: str) -> Any:
    """A number, a tuple of numbers joined by ``+``, or the text."""
    if "+" in text:
        parts = [_value(part) for part in text.split("+")]
        return text if any(isinstance(part, str) for part in parts) else tuple(parts)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
