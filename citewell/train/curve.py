"""The training curve: ``curve.csv`` with one line (step, seconds, name, value) per logged value."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

Values = dict[str, float]

_FILE = "curve.csv"
_MEASURES = ("R@10", "RR", "AP")


class Curve:
    """The curve of the training in a folder; values are also printed to standard error."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def truncate(self, step: int) -> None:
        """Drop the values after `step`, from which the training resumes."""
        rows = [row for row in _rows(self._path) if int(row[0]) <= step] if step else []
        with self._path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)

    def log(self, step: int, seconds: float, values: Values) -> None:
        line = ", ".join(f"{name} {value}" for name, value in values.items())
        print(f"step {step}, {seconds:.1f} s: {line}", file=sys.stderr, flush=True)
        with self._path.open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([step, round(seconds, 1), name, value] for name, value in values.items())


def dev_figures(folder: Path) -> dict[str, Values]:
    """The last dev measures of the training in a folder: set and task to measure to value."""
    figures: dict[str, Values] = {}
    for _, _, name, value in _rows(folder / _FILE):
        name, _, measure = name.rpartition(" ")
        if measure in _MEASURES:
            figures.setdefault(name, {})[measure] = float(value)
    return figures


def _rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        # Skip a line that was cut off by a kill.
        return [row for row in csv.reader(stream) if len(row) == 4 and row[0].isdigit()]
