"""The curve of a training: ``curve.csv`` with a line (step, seconds, what, value) for all that was noted on the way."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

Values = dict[str, float]

_FILE = "curve.csv"
_MEASURES = ("R@10", "RR", "AP")


class Curve:
    """The curve of the training in a folder; what is noted is said on standard error, too."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def cut(self, step: int) -> None:
        """Forget what was noted after a step: the training goes on from there, and will note it again."""
        known = [row for row in _rows(self._path) if int(row[0]) <= step] if step else []
        with self._path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(known)

    def note(self, step: int, seconds: float, values: Values) -> None:
        said = ", ".join(f"{key} {value}" for key, value in values.items())
        print(f"step {step}, {seconds:.1f} s: {said}", file=sys.stderr, flush=True)
        with self._path.open("a", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([step, round(seconds, 1), key, value] for key, value in values.items())


def dev_figures(folder: Path) -> dict[str, Values]:
    """What was measured last by the training in a folder: set and task to measure to value."""
    figures: dict[str, Values] = {}
    for _, _, key, value in _rows(folder / _FILE):
        name, _, measure = key.rpartition(" ")
        if measure in _MEASURES:
            figures.setdefault(name, {})[measure] = float(value)
    return figures


def _rows(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        # A line that a kill cut off is none.
        return [row for row in csv.reader(stream) if len(row) == 4 and row[0].isdigit()]
