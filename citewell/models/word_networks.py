"""What the networks over word vectors share: their folder, and their layers in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.word_vectors import FILE as WORDS
from citewell.types import Float32Array

NETWORK = "network.npz"
LEAK = 0.01
Weights = Mapping[str, Float32Array]


def available(name: str) -> bool:
    """Whether the model exists."""
    return all((weights.folder(name) / file).is_file() for file in (NETWORK, WORDS))


def model_folder(name: str, recipe: str) -> Path:
    """The folder of a model that must exist."""
    if not available(name):
        raise CitewellError(
            f"there is no model {name!r}; train it with 'citewell train {recipe} --set DIR --out {name}'"
            " and put its folder into $CITEWELL_MODELS"
        )
    return weights.folder(name)


def read_network(folder: Path) -> Weights:
    with np.load(folder / NETWORK, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def dense(values: Float32Array, network: Weights, layer: str) -> Float32Array:
    """A linear layer."""
    return values @ network[f"{layer}.weight"].T + network[f"{layer}.bias"]


def convolve(values: Float32Array, network: Weights, layer: str) -> Float32Array:
    """A convolution over three words, zero-padded at both ends."""
    kernel = network[f"{layer}.weight"]
    wide = np.pad(values, ((0, 0), (1, 1), (0, 0)))
    three = np.concatenate([wide[:, at : at + values.shape[1]] for at in range(3)], axis=-1)
    return three @ kernel.transpose(2, 1, 0).reshape(-1, kernel.shape[0]) + network[f"{layer}.bias"]


def leaky_relu(values: Float32Array) -> Float32Array:
    return np.where(values > 0, values, np.float32(LEAK) * values)


def normalise(vectors: Float32Array) -> Float32Array:
    """Vectors at length 1; a zero vector stays zero."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9), np.float32)
