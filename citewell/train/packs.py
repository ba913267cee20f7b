"""The file of a pack, and its numbering of tasks and splits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.files import replaced

TASKS = ("global", "local", "paragraph", "evidence")
SPLITS = ("train", "dev")
FOREVER = 9999_9999
"""The date of an undated query."""
EMPTY = 0
"""The row of the empty text."""

Arrays = dict[str, npt.NDArray[Any]]


def save(arrays: Arrays, path: Path) -> None:
    with replaced(path, durable=False) as part, part.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
