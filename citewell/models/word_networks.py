"""What the small networks over words share: their folder, and their layers by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.word_vectors import FILE as WORDS

NETWORK = "network.npz"
LEAK = 0.01

Floats = npt.NDArray[np.float32]
Weights = Mapping[str, Floats]


def available(name: str) -> bool:
    """Whether there is such a model."""
    return all((weights.folder(name) / file).is_file() for file in (NETWORK, WORDS))


def folder_of(name: str, recipe: str) -> Path:
    """The folder of a model that must be there."""
    if not available(name):
        raise CitewellError(
            f"there is no model {name!r}; train it with 'citewell train {recipe} --set DIR --out {name}'"
            " and put its folder into $CITEWELL_MODELS"
        )
    return weights.folder(name)


def read_network(folder: Path) -> Weights:
    with np.load(folder / NETWORK, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def dense(found: Floats, network: Weights, layer: str) -> Floats:
    """A linear layer."""
    return found @ network[f"{layer}.weight"].T + network[f"{layer}.bias"]


def convolved(found: Floats, network: Weights, layer: str) -> Floats:
    """A convolution over three words, those beyond either end being nothing."""
    kernel = network[f"{layer}.weight"]
    wide = np.pad(found, ((0, 0), (1, 1), (0, 0)))
    three = np.concatenate([wide[:, at : at + found.shape[1]] for at in range(3)], axis=-1)
    return three @ kernel.transpose(2, 1, 0).reshape(-1, kernel.shape[0]) + network[f"{layer}.bias"]


def leaky(found: Floats) -> Floats:
    return np.where(found > 0, found, np.float32(LEAK) * found)


def unit(found: Floats) -> Floats:
    """Vectors at length 1; one of no length stays so."""
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-9), np.float32)
