"""Where a training with torch stands, kept in one file: one that was killed goes on from there, to the same weights.

With what the training itself keeps go the states of torch's random numbers. It needs nothing but torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from citewell.train.fingerprints import digest


class Checkpoint:
    """The last checkpoint of one training; only one of the same fingerprint goes on from it."""

    def __init__(self, path: Path, fingerprint: str, device: torch.device) -> None:
        self._path, self._fingerprint, self._device = path, fingerprint, device

    def save(self, state: Mapping[str, Any]) -> None:
        part = self._path.with_name(f"{self._path.name}.part")
        torch.save({**state, "fingerprint": self._fingerprint, "luck": self._luck()}, part)
        part.rename(self._path)

    def load(self) -> dict[str, Any] | None:
        """What was kept last, torch's random numbers set back to where they stood then; None where there is nothing."""
        if not self._path.exists():
            return None
        # The file is this training's own, and holds more than tensors.
        state: dict[str, Any] = torch.load(self._path, map_location=self._device, weights_only=False)
        if state["fingerprint"] != self._fingerprint:
            return None
        torch.set_rng_state(state["luck"]["cpu"].cpu())
        if "cuda" in state["luck"]:
            torch.cuda.set_rng_state(state["luck"]["cuda"].cpu(), self._device)
        return state

    def _luck(self) -> dict[str, Any]:
        found = {"cpu": torch.get_rng_state()}
        return found | {"cuda": torch.cuda.get_rng_state(self._device)} if self._device.type == "cuda" else found


def fingerprint(recipe: Mapping[str, Any], files: Sequence[Path], device: torch.device) -> str:
    """What a training is made of: its recipe, the content of its files, and the kind of machine."""
    return digest(files, json.dumps([recipe, device.type], sort_keys=True))
