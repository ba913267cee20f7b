"""The network of the learning-to-rank ensemble, served with numpy: scores, and the contribution of each feature.

Features are standardised; a missing one becomes the mean, and a flag says that it is missing. The contribution of
a feature is the drop in score when its mean replaces it (`citewell.train.ltr_network` trains the network).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from citewell.types import Float32Array, Float64Array, IntArray

_CLIP = 4.0
"""Standardised features are clipped to this many standard deviations."""


@dataclass(frozen=True)
class Network:
    """Dense layers with ReLU between them."""

    names: tuple[str, ...]
    """The features, one per column."""
    means: Float64Array
    scales: Float64Array
    flagged: IntArray
    """The columns that have a missing flag."""
    layers: tuple[tuple[Float64Array, Float64Array], ...]
    """Weights and biases."""
    share: float
    """The weight of its scores relative to those of the trees."""

    @classmethod
    def load(cls, path: Path) -> Network:
        with np.load(path, allow_pickle=False) as arrays:
            depth = int(arrays["depth"])
            layers = [
                (arrays[f"weights{at}"].astype(np.float64), arrays[f"biases{at}"].astype(np.float64)) for at in range(depth)
            ]
            names, share = tuple(arrays["names"].tolist()), float(arrays["share"])
            return cls(names, arrays["means"], arrays["scales"], arrays["told"], tuple(layers), share)

    def save(self, path: Path) -> None:
        layers: dict[str, Any] = {f"weights{at}": weights.astype(np.float32) for at, (weights, _) in enumerate(self.layers)}
        layers |= {f"biases{at}": biases.astype(np.float32) for at, (_, biases) in enumerate(self.layers)}
        scaling: dict[str, Any] = {"means": self.means, "scales": self.scales, "told": self.flagged}
        np.savez_compressed(path, names=np.array(self.names), **scaling, **layers, depth=len(self.layers), share=self.share)

    def scores(self, rows: Float64Array) -> Float64Array:
        """The score of each row of features."""
        return self._forward(self.inputs(rows))

    def contributions(self, rows: Float64Array) -> Float64Array:
        """The contribution of each feature to the score of each row; a missing feature contributes nothing."""
        inputs = self.inputs(rows)
        full = self._forward(inputs)
        contributions = np.zeros(rows.shape)
        for column in range(len(self.names)):
            without = inputs.copy()
            without[:, column] = 0.0
            contributions[:, column] = full - self._forward(without)
        return contributions

    def inputs(self, rows: Float64Array) -> Float64Array:
        """The input of the first layer."""
        missing = np.isnan(rows)
        scaled = np.clip((rows - self.means) / self.scales, -_CLIP, _CLIP)
        return np.hstack([np.where(missing, 0.0, scaled), missing[:, self.flagged]])

    def _forward(self, values: Float64Array) -> Float64Array:
        for weights, biases in self.layers[:-1]:
            values = np.maximum(values @ weights + biases, 0.0)
        weights, biases = self.layers[-1]
        return np.asarray((values @ weights + biases)[:, 0], np.float64)


def scaling(rows: Float32Array) -> tuple[Float64Array, Float64Array, IntArray]:
    """Means and standard deviations of features, and the columns that are sometimes missing."""
    means, scales, counts = np.zeros(rows.shape[1]), np.ones(rows.shape[1]), np.zeros(rows.shape[1], np.int64)
    for column, values in enumerate(rows.T):  # one column at a time: millions of rows are in memory once, not three times
        present = values[~np.isnan(values)].astype(np.float64)
        counts[column] = len(present)
        if len(present):
            means[column], scales[column] = present.mean(), present.std() or 1.0
    return means, scales, np.flatnonzero((counts > 0) & (counts < len(rows)))


def network_path(trees: Path) -> Path:
    """The file of the network that belongs to a file of trees."""
    return trees.with_name(f"{trees.stem}-network.npz")
