"""Saves arrays safely: writes a new file, then replaces the card that names it, then removes the old file.

Checkpoints and finished models are saved in this way, so a process killed at any moment leaves the last complete one.
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
from citewell.files import write_atomically
from citewell.library.trained_models import CARD, Card, read_card


def save_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]) -> None:
    """Replace the arrays in a folder and their card."""
    folder.mkdir(parents=True, exist_ok=True)
    file = f"{uuid4().hex[:12]}.arrays"
    size, _ = write_arrays(folder / file, arrays)
    card = Card(file, size, dict(about))
    write_atomically(folder / CARD, msgspec.json.format(msgspec.json.encode(card), indent=2), durable=False)
    for path in folder.iterdir():
        if path.name not in (CARD, file):
            path.unlink()


class EpochCheckpoints:
    """The arrays after each epoch; only a training of the same recipe on the same corpus resumes from them."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder
        self._fingerprint = fingerprint

    def load(self, stage: str) -> tuple[int, Arrays]:
        """The number of finished epochs of a stage, and copies of the arrays after the last one."""
        card = read_card(self._folder / stage)
        if card is None or card.about.get("fingerprint") != self._fingerprint:
            return 0, {}
        try:
            arrays = map_arrays(self._folder / stage / card.file, card.bytes)
        except DamagedFileError:
            return 0, {}
        return int(card.about["epochs"]), {name: np.array(array) for name, array in arrays.items()}

    def save(self, stage: str, epochs: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        save_arrays(self._folder / stage, arrays, {"fingerprint": self._fingerprint, "epochs": epochs})

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
