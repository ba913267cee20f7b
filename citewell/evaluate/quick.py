"""A cache of its own for quick runs, so that models trained for a few steps never stand in for real ones.

The libraries of the sets are copied from the real cache without their models, with the vectors that took long to compute.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from citewell.evaluate.set_libraries import BUILDING, cache_folder, safe_name
from citewell.evaluate.sets import DataSet
from citewell.models.weights import model_folders

SAMPLE = 20
"""Queries for each set and task of a quick run."""


def quick_folder() -> Path:
    """The cache of quick runs, next to the libraries of sets."""
    return cache_folder().parent / "quick"


@contextmanager
def quick_cache(sets: Sequence[Path]) -> Iterator[Path]:
    """Use the cache for quick runs within this block; yields the folder for quickly trained weights.

    The folder is the last of ``$CITEWELL_MODELS``: weights that are installed come first.
    """
    real = cache_folder()
    quick = quick_folder()
    models = quick / "models"
    (quick / "sets").mkdir(parents=True, exist_ok=True)
    for folder in sets:
        for library in real.glob(f"{safe_name(DataSet.open(folder).name)}-*"):
            target = quick / "sets" / library.name
            if library.is_dir() and library.suffix != BUILDING and not target.exists():
                copied = target.with_name(f"{target.name}{BUILDING}")
                shutil.rmtree(copied, ignore_errors=True)
                shutil.copytree(library, copied, ignore=lambda place, names: [name for name in names if name == "models"])
                copied.rename(target)
    before = {name: os.environ.get(name) for name in ("CITEWELL_CACHE", "CITEWELL_MODELS")}
    os.environ["CITEWELL_CACHE"] = str(quick)
    os.environ["CITEWELL_MODELS"] = os.pathsep.join(map(str, [*model_folders(), models]))
    try:
        yield models
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
