"""A library that is opened anew where somebody has committed to it: a job, the command line, the process that makes vectors."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from citewell.library.index import manifest
from citewell.library.library import Library
from citewell.library.store import schema
from citewell.library.vectors.store import FOLDER as VECTORS

_VECTORS_EVERY = 10.0
"""Vectors that are being made are committed every few seconds; so often, in seconds, the new ones are opened."""

Stamp = tuple[tuple[str, int, int], ...]


class Following:
    """One process's handle on a library."""

    def __init__(self, folder: Path) -> None:
        self._library = Library(folder)
        self._index: Stamp = ()
        self._vectors: Stamp = ()
        self._looked = 0.0

    def latest(self) -> Library:
        """The library as of its last commit. What the store holds is read anew at every query; what is mapped is not."""
        folder = self._library.folder
        index = _stamp([folder / manifest.FOLDER / manifest.FILE]) + _stamp([folder / schema.FILE], by_time=False)
        vectors = self._vectors
        if time.monotonic() - self._looked > _VECTORS_EVERY:
            self._looked = time.monotonic()
            vectors = _stamp(sorted((folder / VECTORS).glob("*/manifest.json")))
        if (index, vectors) != (self._index, self._vectors):
            self._index, self._vectors = index, vectors
            self._library.reload()
        return self._library


def _stamp(paths: Iterable[Path], by_time: bool = True) -> Stamp:
    """By what one can tell that files have been replaced."""
    found = []
    for path in paths:
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        found.append((path.parent.name, stat.st_ino, stat.st_mtime_ns if by_time else 0))
    return tuple(found)
