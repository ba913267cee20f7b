"""What an analysis of a study gets, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from citewell.evaluate.set_libraries import Train
from citewell.progress import SILENT, Progress


@dataclass(frozen=True)
class Request:
    """What to analyse: a data set, a sample of its queries, and the settings that the study gives."""

    folder: Path
    """The folder of the data set."""
    split: str = "test"
    sample: int | None = 500
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress = SILENT
    train: Train | None = None
    """Makes a missing model of a library, as in `citewell.evaluate.evaluation.Evaluation`."""


@dataclass(frozen=True)
class Result:
    """A table of figures, and how to plot it."""

    columns: list[str]
    """The first column names the row."""
    rows: list[list[str | float]]
    note: str = ""
    """What the reader must know to read the figures."""
    plot: Literal["", "lines", "bars"] = ""
    """``lines``: the first column is the x axis, each other column one line; ``bars``: one group for each row."""
