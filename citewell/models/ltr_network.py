"""A small network over signals as arrays: scores, and what each signal adds to them, by numpy alone.

Signals are brought to one scale; one that is missing is held to be as usual, and the network is told that it is missing. A
signal's share of a score is what the score loses where the signal is as usual instead (`citewell.train.ltr_network` trains it).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_PARTS = ("means", "scales", "told")
_FAR = 4.0
"""Nothing is further from what is usual than so many scales."""


@dataclass(frozen=True)
class Network:
    """Layers of weights, between which what is below 0 is cut off."""

    names: tuple[str, ...]
    """The signals, by column."""
    means: Floats
    scales: Floats
    told: npt.NDArray[np.int64]
    """The columns of which it is told whether they are missing."""
    layers: tuple[tuple[Floats, Floats], ...]
    """Weights and biases."""
    share: float
    """How much its scores count beside those of the trees."""

    @classmethod
    def load(cls, path: Path) -> Network:
        with np.load(path, allow_pickle=False) as found:
            depth = int(found["depth"])
            layers = [
                (found[f"weights{at}"].astype(np.float64), found[f"biases{at}"].astype(np.float64)) for at in range(depth)
            ]
            parts = {part: found[part] for part in _PARTS}
            return cls(tuple(found["names"].tolist()), **parts, layers=tuple(layers), share=float(found["share"]))

    def save(self, path: Path) -> None:
        layers: dict[str, Any] = {f"weights{at}": weights.astype(np.float32) for at, (weights, _) in enumerate(self.layers)}
        layers |= {f"biases{at}": biases.astype(np.float32) for at, (_, biases) in enumerate(self.layers)}
        parts = {part: getattr(self, part) for part in _PARTS}
        np.savez_compressed(path, names=np.array(self.names), **parts, **layers, depth=len(self.layers), share=self.share)

    def scores(self, rows: Floats) -> Floats:
        """The score of each row of signals."""
        return self._through(self.inputs(rows))

    def shares(self, rows: Floats) -> Floats:
        """What each signal adds to the score of each row; one that is missing adds nothing."""
        inputs = self.inputs(rows)
        whole = self._through(inputs)
        found = np.zeros(rows.shape)
        for column in range(len(self.names)):
            usual = inputs.copy()
            usual[:, column] = 0.0
            found[:, column] = whole - self._through(usual)
        return found

    def inputs(self, rows: Floats) -> Floats:
        """What the first layer sees."""
        missing = np.isnan(rows)
        scaled = np.clip((rows - self.means) / self.scales, -_FAR, _FAR)
        return np.hstack([np.where(missing, 0.0, scaled), missing[:, self.told]])

    def _through(self, found: Floats) -> Floats:
        for weights, biases in self.layers[:-1]:
            found = np.maximum(found @ weights + biases, 0.0)
        weights, biases = self.layers[-1]
        return np.asarray((found @ weights + biases)[:, 0], np.float64)


def scaling(rows: npt.NDArray[np.float32]) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Means and scales of signals, and which of them are missing now and then."""
    means, scales, counts = np.zeros(rows.shape[1]), np.ones(rows.shape[1]), np.zeros(rows.shape[1], np.int64)
    for column, values in enumerate(rows.T):  # one after the other: millions of rows are held once, not three times
        known = values[~np.isnan(values)].astype(np.float64)
        counts[column] = len(known)
        if len(known):
            means[column], scales[column] = known.mean(), known.std() or 1.0
    return means, scales, np.flatnonzero((counts > 0) & (counts < len(rows)))


def network_path(trees: Path) -> Path:
    """Where the network lies that belongs to trees."""
    return trees.with_name(f"{trees.stem}-network.npz")
