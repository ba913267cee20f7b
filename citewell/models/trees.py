"""Gradient-boosted trees as arrays, served with numpy: scores, and the contribution of each feature.

LightGBM trains them (`citewell.train.ltr`); ranking needs neither LightGBM nor its start-up time. The contribution of a feature
is the sum, over the nodes on the path that split on it, of the change in the mean value of the training rows below (Saabas
2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from citewell.types import Float64Array, Mask

_ARRAYS = ("feature", "threshold", "left", "right", "value", "missing_left", "missing_counts", "roots")


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees in one array; a leaf is its own left and right child."""

    names: tuple[str, ...]
    """The features, one per column."""
    feature: npt.NDArray[np.int32]
    threshold: Float64Array
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    value: Float64Array
    """For a leaf, what it adds to the score; for other nodes, the mean of the values below."""
    missing_left: Mask
    """Whether a missing value goes left."""
    missing_counts: Mask
    """Whether a missing value is distinguished from 0."""
    roots: npt.NDArray[np.int32]

    @classmethod
    def load(cls, path: Path) -> Trees:
        with np.load(path, allow_pickle=False) as arrays:
            return cls(tuple(arrays["names"].tolist()), **{part: arrays[part] for part in _ARRAYS})

    def save(self, target: Path | BinaryIO) -> None:
        np.savez_compressed(target, names=np.array(self.names), **{part: getattr(self, part) for part in _ARRAYS})

    @classmethod
    def of_lightgbm(cls, dumped: Mapping[str, Any]) -> Trees:
        """Convert the output of LightGBM's ``dump_model``."""
        columns: dict[str, list[Any]] = {part: [] for part in _ARRAYS}
        for tree in dumped["tree_info"]:
            columns["roots"].append(_flatten(tree["tree_structure"], columns))
        kinds = {"threshold": np.float64, "value": np.float64, "missing_left": np.bool_, "missing_counts": np.bool_}
        arrays: dict[str, Any] = {part: np.array(values, kinds.get(part, np.int32)) for part, values in columns.items()}
        return cls(tuple(dumped["feature_names"]), **arrays)

    def plus(self, others: Trees, weight: float = 1.0) -> Trees:
        """Trees whose scores are those of these trees and, times `weight`, those of others over the same features."""
        if others.names != self.names:
            raise ValueError("trees over other features cannot be added")
        start = len(self.feature)
        moved = {
            "left": others.left + start,
            "right": others.right + start,
            "roots": others.roots + start,
            "value": others.value * weight,
        }
        arrays: dict[str, Any] = {
            part: np.concatenate([getattr(self, part), moved.get(part, getattr(others, part))]).astype(
                getattr(self, part).dtype
            )
            for part in _ARRAYS
        }
        return Trees(self.names, **arrays)

    def scores(self, rows: Float64Array) -> Float64Array:
        """The score of each row of features."""
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        while True:
            below = self._step(rows, at)
            if (below == at).all():
                scores: Float64Array = self.value[at].sum(axis=1)
                return scores
            at = below

    def contributions(self, rows: Float64Array) -> Float64Array:
        """The contribution of each feature to the score of each row, relative to the mean score."""
        contributions = np.zeros((len(rows), len(self.names)))
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        owners = np.broadcast_to(np.arange(len(rows))[:, None], at.shape)
        while True:
            below = self._step(rows, at)
            moved = below != at
            if not moved.any():
                return contributions
            np.add.at(contributions, (owners[moved], self.feature[at[moved]]), self.value[below[moved]] - self.value[at[moved]])
            at = below

    def _step(self, rows: Float64Array, at: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        values = np.take_along_axis(rows, self.feature[at], axis=1)
        missing = np.isnan(values)
        counted = missing & self.missing_counts[at]
        goes_left = np.where(counted, self.missing_left[at], np.where(missing, 0.0, values) <= self.threshold[at])
        return np.where(goes_left, self.left[at], self.right[at]).astype(np.int32)


def _flatten(node: Mapping[str, Any], columns: dict[str, list[Any]]) -> int:
    """Append a node and its subtree to the columns; returns its position."""
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
            raise ValueError("only numerical splits are supported")
        columns["left"][place] = _flatten(node["left_child"], columns)
        columns["right"][place] = _flatten(node["right_child"], columns)
    return place
