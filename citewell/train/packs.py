"""The file of a pack, and the numbers that stand for names in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

TASKS = ("global", "local", "paragraph", "evidence")
SPLITS = ("train", "dev")
FOREVER = 9999_9999
"""The date of a question that nobody dated."""
EMPTY = 0
"""The row of the empty text."""

Arrays = dict[str, npt.NDArray[Any]]


def save(arrays: Arrays, path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    part.rename(path)


def load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
