"""A library that reloads itself when another process commits to it: a job, a command, or the background encoder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from citewell.library.index import manifest
from citewell.library.library import Library
from citewell.library.store import schema
from citewell.library.vectors.store import FOLDER as VECTORS

_CHECK_VECTORS_EVERY = 10.0
"""Seconds between two checks for new vectors. The background encoder commits every few seconds; each reload costs time."""

Stamp = tuple[tuple[str, int, int], ...]


class LibraryFollower:
    """One process's handle on a library."""

    def __init__(self, folder: Path) -> None:
        self._library = Library(folder)
        self._index: Stamp = ()
        self._vectors: Stamp = ()
        self._checked = 0.0

    def latest(self) -> Library:
        """The library as of its last commit. SQLite always reads the current state; memory-mapped files need a reload."""
        folder = self._library.folder
        index = _stamp([folder / manifest.FOLDER / manifest.FILE]) + _stamp([folder / schema.FILE], with_time=False)
        vectors = self._vectors
        if time.monotonic() - self._checked > _CHECK_VECTORS_EVERY:
            self._checked = time.monotonic()
            vectors = _stamp(sorted((folder / VECTORS).glob("*/manifest.json")))
        if (index, vectors) != (self._index, self._vectors):
            self._index, self._vectors = index, vectors
            self._library.reload()
        return self._library


def _stamp(paths: Iterable[Path], with_time: bool = True) -> Stamp:
    """A value that changes when any of the files is replaced."""
    stamps = []
    for path in paths:
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        stamps.append((path.parent.name, stat.st_ino, stat.st_mtime_ns if with_time else 0))
    return tuple(stamps)
