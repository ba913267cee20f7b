"""The training curve: ``curve.csv`` with one line (step, seconds, name, value) per logged value."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

Values = dict[str, float]

BEST = "best"
"""The name of a line that says that the weights of its step are the best so far, with the value by which they are."""
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
    """The dev measures of the weights that a training wrote to a folder: set and task to measure to value.

    They are those of the best step, or of the last one where a training keeps no best weights.
    """
    rows = _rows(folder / _FILE)
    best = [step for step, _, name, _ in rows if name == BEST][-1:]
    figures: dict[str, Values] = {}
    for step, _, name, value in rows:
        name, _, measure = name.rpartition(" ")
        if measure in _MEASURES and (not best or step == best[0]):
            figures.setdefault(name, {})[measure] = float(value)
    return figures


def copy_part(folder: Path, part: str, target: Path) -> None:
    """Copy the values whose names begin with `part`, a word, to the curve in another folder, without that word."""
    rows = [
        [*row[:2], row[2].removeprefix(f"{part} "), row[3]] for row in _rows(folder / _FILE) if row[2].startswith(f"{part} ")
    ]
    with (target / _FILE).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)


def _rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        # Skip a line that was cut off by a kill.
        return [row for row in csv.reader(stream) if len(row) == 4 and row[0].isdigit()]
