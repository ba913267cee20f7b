"""Gradient-boosted trees as arrays: scores, and what each feature adds to them, by numpy alone.

The trees are LightGBM's (`citewell.train.ltr` brings them here); whoever ranks needs neither it nor its start-up time.
A feature's share of a score is the sum, over the nodes of the path that ask for it, of how far the answer moves the mean of the
training rows below (Saabas 2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_PARTS = ("feature", "threshold", "left", "right", "value", "missing_left", "missing_counts", "roots")


@dataclass(frozen=True)
class Trees:
    """All nodes of all trees behind one another; a leaf is its own left and right."""

    names: tuple[str, ...]
    """The features, by column."""
    feature: npt.NDArray[np.int32]
    threshold: Floats
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    value: Floats
    """Of a leaf what it adds to the score; of any other node the mean of what lies below."""
    missing_left: npt.NDArray[np.bool_]
    """Where a value that is missing goes."""
    missing_counts: npt.NDArray[np.bool_]
    """Whether missing is told from 0 at all."""
    roots: npt.NDArray[np.int32]

    @classmethod
    def load(cls, path: Path) -> Trees:
        with np.load(path, allow_pickle=False) as found:
            return cls(tuple(found["names"].tolist()), **{part: found[part] for part in _PARTS})

    def save(self, path: Path) -> None:
        np.savez_compressed(path, names=np.array(self.names), **{part: getattr(self, part) for part in _PARTS})

    @classmethod
    def of_lightgbm(cls, dumped: Mapping[str, Any]) -> Trees:
        """From what LightGBM's ``dump_model`` gives."""
        columns: dict[str, list[Any]] = {part: [] for part in _PARTS}
        for tree in dumped["tree_info"]:
            columns["roots"].append(_lay_down(tree["tree_structure"], columns))
        kinds = {"threshold": np.float64, "value": np.float64, "missing_left": np.bool_, "missing_counts": np.bool_}
        arrays: dict[str, Any] = {part: np.array(values, kinds.get(part, np.int32)) for part, values in columns.items()}
        return cls(tuple(dumped["feature_names"]), **arrays)

    def scores(self, rows: Floats) -> Floats:
        """The score of each row of features."""
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        while True:
            below = self._step(rows, at)
            if (below == at).all():
                found: Floats = self.value[at].sum(axis=1)
                return found
            at = below

    def shares(self, rows: Floats) -> Floats:
        """What each feature adds to the score of each row, beyond what all rows have."""
        found = np.zeros((len(rows), len(self.names)))
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        owners = np.broadcast_to(np.arange(len(rows))[:, None], at.shape)
        while True:
            below = self._step(rows, at)
            moved = below != at
            if not moved.any():
                return found
            np.add.at(found, (owners[moved], self.feature[at[moved]]), self.value[below[moved]] - self.value[at[moved]])
            at = below

    def _step(self, rows: Floats, at: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        values = np.take_along_axis(rows, self.feature[at], axis=1)
        absent = np.isnan(values)
        counts = absent & self.missing_counts[at]
        goes_left = np.where(counts, self.missing_left[at], np.where(absent, 0.0, values) <= self.threshold[at])
        return np.where(goes_left, self.left[at], self.right[at]).astype(np.int32)


def _lay_down(node: Mapping[str, Any], columns: dict[str, list[Any]]) -> int:
    """Put a node and all below it into the columns; returns its place."""
    place = len(columns["feature"])
    leaf = "leaf_value" in node
    for part, value in (
        ("feature", 0 if leaf else node["split_feature"]),
        ("threshold", 0.0 if leaf else node["threshold"]),
        ("left", place),
        ("right", place),
        ("value", node["leaf_value"] if leaf else node["internal_value"]),
        ("missing_left", False if leaf else node["default_left"]),
        ("missing_counts", False if leaf else node["missing_type"] == "NaN"),
    ):
        columns[part].append(value)
    if not leaf:
        if node["decision_type"] != "<=":
            raise ValueError("only splits of numbers can be laid down")
        columns["left"][place] = _lay_down(node["left_child"], columns)
        columns["right"][place] = _lay_down(node["right_child"], columns)
    return place
