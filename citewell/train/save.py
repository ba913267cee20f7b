"""Keeping arrays safe: a new file of arrays, then the card that names it, by a rename; what the old card named goes last.

Checkpoints and finished models are kept in the same way, so a process killed at any moment leaves the last whole one.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.arrays import Arrays, DamagedFileError, map_arrays, write_arrays
from citewell.library.trained_models import CARD, Card, read_card


def save(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]) -> None:
    """Put arrays and their card into a folder, in place of those that were there."""
    folder.mkdir(parents=True, exist_ok=True)
    file = f"{uuid4().hex[:12]}.arrays"
    size, _ = write_arrays(folder / file, arrays)
    temporary = folder / f"{CARD}.part"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(Card(file, size, dict(about))), indent=2))
    temporary.rename(folder / CARD)
    for path in folder.iterdir():
        if path.name not in (CARD, file):
            path.unlink()


class Checkpoints:
    """Where a training stands after each epoch; only a training of the same recipe on the same corpus goes on from there."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder
        self._fingerprint = fingerprint

    def load(self, stage: str) -> tuple[int, Arrays]:
        """How many epochs of a stage are done, and the arrays after the last one; copies, since training changes them."""
        card = read_card(self._folder / stage)
        if card is None or card.about.get("fingerprint") != self._fingerprint:
            return 0, {}
        try:
            found = map_arrays(self._folder / stage / card.file, card.bytes)
        except DamagedFileError:
            return 0, {}
        return int(card.about["epochs"]), {name: np.array(array) for name, array in found.items()}

    def save(self, stage: str, epochs: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        save(self._folder / stage, arrays, {"fingerprint": self._fingerprint, "epochs": epochs})

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
