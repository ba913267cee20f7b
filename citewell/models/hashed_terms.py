"""The weights of a linear model over hashed words and word pairs, stored in 8 bits each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from citewell.types import Float64Array, Int8Array


def load_terms(path: Path) -> tuple[Float64Array, float]:
    """The weight of each hashed term, and the bias."""
    with np.load(path, allow_pickle=False) as arrays:
        return dequantise(arrays["codes"], float(arrays["scale"])), float(arrays["bias"])


def quantise(weights: Float64Array) -> tuple[Int8Array, float]:
    """Weights in 8 bits on a square-root scale: most weights are small and get the finer steps."""
    scale = float(np.abs(weights).max(initial=1e-9))
    return np.round(np.sign(weights) * np.sqrt(np.abs(weights) / scale) * 127).astype(np.int8), scale


def dequantise(codes: Int8Array, scale: float) -> Float64Array:
    """The weights from their 8-bit codes."""
    part = codes.astype(np.float64) / 127
    weights: Float64Array = np.sign(part) * part**2 * scale
    return weights
