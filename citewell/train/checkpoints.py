"""What a torch training saves: checkpoints to resume from, and the best weights so far.

A resumed training ends with the same weights as an uninterrupted one: checkpoints include the state of torch's random number
generators. Needs only torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from citewell.files import replaced
from citewell.train.curve import BEST, Values
from citewell.train.fingerprints import fingerprint


class Checkpoint:
    """The last checkpoint of one training; only a training with the same fingerprint resumes from it."""

    def __init__(self, path: Path, fingerprint: str, device: torch.device) -> None:
        self._path, self._fingerprint, self._device = path, fingerprint, device

    def save(self, state: Mapping[str, Any]) -> None:
        with replaced(self._path, durable=False) as part:
            torch.save({**state, "fingerprint": self._fingerprint, "rng": self._rng_state()}, part)

    def load(self) -> dict[str, Any] | None:
        """The last saved state, with torch's random number generators parse_all; None if there is none."""
        if not self._path.exists():
            return None
        # Tensors and plain values only: a file that was exchanged for another cannot run code.
        state: dict[str, Any] = torch.load(self._path, map_location=self._device, weights_only=True)
        if state["fingerprint"] != self._fingerprint:
            return None
        torch.set_rng_state(state["rng"]["cpu"].cpu())
        if "cuda" in state["rng"]:
            torch.cuda.set_rng_state(state["rng"]["cuda"].cpu(), self._device)
        return state

    def _rng_state(self) -> dict[str, Any]:
        state = {"cpu": torch.get_rng_state()}
        return state | {"cuda": torch.cuda.get_rng_state(self._device)} if self._device.type == "cuda" else state


class BestWeights:
    """The weights with the highest dev measure so far: more steps are not always better."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._value = -1.0
        self._weights: dict[str, Any] = {}

    def update(self, value: float) -> Values:
        """Save the current weights if they are the best so far; returns what the curve says then, else nothing."""
        if not value > self._value:  # also where it is not a number
            return {}
        self._value = float(value)  # not a number of numpy: a checkpoint has tensors and plain values only
        self._weights = {name: weight.detach().clone() for name, weight in self._model.state_dict().items()}
        return {BEST: round(self._value, 4)}

    def load_best(self) -> None:
        """Load the best weights into the model."""
        if self._weights:
            self._model.load_state_dict(self._weights)

    def state(self) -> dict[str, Any]:
        return {"value": self._value, "weights": self._weights}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._value, self._weights = state["value"], dict(state["weights"])


def training_fingerprint(recipe: Mapping[str, Any], files: Sequence[Path], device: torch.device) -> str:
    """Identifies a training: its recipe, the content of its files, and the kind of device."""
    return fingerprint(files, json.dumps([recipe, device.type], sort_keys=True))
