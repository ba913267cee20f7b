"""Neighbours: a graph of near vectors (usearch, HNSW) that spares large shelves the scan of every vector.

It is made of a shelf's vectors when there are more than `LIMIT`, written under a temporary name, renamed, and then named in the
shelf's manifest. Beside it stands of which papers and texts it was made: it *covers* a paper as long as the shelf's vector is
of that same text, however the shelf's segments have been merged since. What it does not cover is for the caller to scan, and
what it finds is for the caller to score. Where its files are missing or damaged there is no index, only the scan.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from citewell import threads
from citewell.arrays import DamagedFileError, checksum, map_arrays, write_arrays
from citewell.library.vectors.store import NeighbourFiles, Numbers, Shelf
from citewell.progress import SILENT, Progress

LIMIT = 1_000_000
"""Up to so many vectors the scan is fast enough."""
_STALE = 0.2
"""The index is made anew when it lacks, or should no longer have, more than this share of the vectors."""
_CONNECTIVITY = 32
_EXPANSION = 128
_AT_ONCE = 4096

Mask = npt.NDArray[np.bool_]


class Neighbours:
    """The neighbour index of a shelf, mapped."""

    def __init__(self, graph: Any, papers: npt.NDArray[np.int32], hashes: Numbers) -> None:
        self._graph = graph
        self._papers, self._hashes = papers, hashes

    @classmethod
    def open(cls, shelf: Shelf) -> Neighbours | None:
        """What the shelf's manifest names; None where that is nothing, or not as it was written."""
        files = shelf.neighbours
        if files is None:
            return None
        path = _graph_file(shelf, files.name)
        try:
            covered = map_arrays(_covered_file(shelf, files.name), files.covered_bytes)
            found = path.stat()
            untouched = found.st_mtime_ns == files.written
            if found.st_size != files.bytes or not (untouched or checksum(path) == files.crc32):
                return None
            graph = _new_graph(shelf.dimension)
            graph.view(path)
            return cls(graph, covered["papers"], covered["hashes"])
        except (DamagedFileError, OSError, KeyError, ImportError, RuntimeError, ValueError):
            return None

    def __len__(self) -> int:
        return len(self._papers)

    def covers(self, papers: npt.NDArray[np.int32], hashes: Numbers) -> Mask:
        """Which papers, with vectors of the texts of these hashes, can be found."""
        at = np.minimum(np.searchsorted(self._papers, papers), len(self._papers) - 1)
        return np.asarray((self._papers[at] == papers) & (self._hashes[at] == hashes))

    def search(self, code: npt.NDArray[np.int8], count: int) -> Numbers:
        """About the `count` papers nearest to an int8 vector, among them some that may be covered no longer."""
        return np.asarray(self._graph.search(code, count, threads=1, dtype="i8").keys).astype(np.int64)


def refresh(shelf: Shelf, live: Numbers, limit: int, progress: Progress = SILENT) -> bool:
    """Make the index, or make it anew, where the shelf is large and much of it is not covered; returns whether it was made.

    `live` are the papers of the library. For the one process at a time that writes to the shelf.
    """
    parts = [(segment, speaks & np.isin(segment.papers, live)) for segment, speaks in shelf.segments()]
    count = sum(int(np.count_nonzero(mask)) for _, mask in parts)
    if count <= limit:
        return False
    present = Neighbours.open(shelf)
    if present is not None:
        covered = sum(int(np.count_nonzero(present.covers(part.papers, part.hashes) & mask)) for part, mask in parts)
        if count - covered <= _STALE * count and len(present) - covered <= _STALE * len(present):
            return False
    try:
        graph = _new_graph(shelf.dimension)
    except ImportError:
        return False
    progress.start("indexing vectors", count, "papers")
    for part, mask in parts:
        rows = np.flatnonzero(mask)
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            graph.add(part.papers[some].astype(np.uint64), part.codes[some], threads=threads.count(), dtype="i8")
            progress.advance(len(some))
    papers = np.concatenate([part.papers[mask] for part, mask in parts])
    hashes = np.concatenate([part.hashes[mask] for part, mask in parts])
    order = np.argsort(papers)
    _commit(shelf, graph, papers[order], hashes[order])
    return True


def _commit(shelf: Shelf, graph: Any, papers: npt.NDArray[np.int32], hashes: Numbers) -> None:
    name = uuid4().hex[:12]
    covered_bytes, _ = write_arrays(_covered_file(shelf, name), {"papers": papers, "hashes": hashes})
    path = _graph_file(shelf, name)
    part = path.with_name(path.name + ".part")
    graph.save(part)
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.rename(path)
    found = path.stat()
    shelf.keep_neighbours(NeighbourFiles(name, found.st_size, checksum(path), found.st_mtime_ns, covered_bytes))
    # What is left of earlier ones, and of those that were killed while they were made.
    for pattern in ("*.near*", "*.covered*"):
        for old in shelf.folder.glob(pattern):
            if not old.name.startswith(name):
                old.unlink(missing_ok=True)


def _new_graph(dimension: int) -> Any:
    from usearch.index import Index

    # The cosine of int8 vectors does not know their scales; as all vectors have length 1, it needs not.
    return Index(
        ndim=dimension,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION,
        expansion_search=_EXPANSION,
        enable_key_lookups=False,
    )


def _graph_file(shelf: Shelf, name: str) -> Path:
    return shelf.folder / f"{name}.near"


def _covered_file(shelf: Shelf, name: str) -> Path:
    return shelf.folder / f"{name}.covered"
