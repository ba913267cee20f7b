"""Neighbour index: a graph of near vectors (usearch, HNSW), so that large libraries need not scan every vector.

It is built when a store has more than `LIMIT` vectors, written under a temporary name, renamed, and then named in the store's
manifest. Next to it is a list of the papers and texts that it was built from: it *covers* a paper as long as the store's vector
is of the same text, even after the store's segments have been merged. The caller scans what it does not cover, and scores what
it returns. If its files are missing or damaged, every vector is scanned.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from citewell import threads
from citewell.arrays import DamagedFileError, checksum, map_arrays, write_arrays
from citewell.files import replaced
from citewell.library.vectors.store import NeighbourFiles, VectorStore
from citewell.progress import SILENT, Progress
from citewell.types import IntArray, Mask

LIMIT = 1_000_000
"""Up to this many vectors the scan is fast enough."""
_STALE = 0.2
"""The index is built again when it lacks, or should no longer have, more than this share of the vectors."""
_CONNECTIVITY = 32
_EXPANSION = 128
_AT_ONCE = 4096


class Neighbours:
    """The neighbour index of a store, mapped."""

    def __init__(self, graph: Any, papers: npt.NDArray[np.int32], hashes: IntArray) -> None:
        self._graph = graph
        self._papers, self._hashes = papers, hashes

    @classmethod
    def open(cls, store: VectorStore) -> Neighbours | None:
        """The index that the store's manifest names; None if there is none or it is damaged."""
        files = store.neighbours
        if files is None:
            return None
        path = _graph_file(store, files.name)
        try:
            covered = map_arrays(_covered_file(store, files.name), files.covered_bytes)
            file = path.stat()
            untouched = file.st_mtime_ns == files.written
            if file.st_size != files.bytes or not (untouched or checksum(path) == files.crc32):
                return None
            graph = _new_graph(store.dimension)
            graph.view(path)
            return cls(graph, covered["papers"], covered["hashes"])
        except (DamagedFileError, OSError, KeyError, ImportError, RuntimeError, ValueError):
            return None

    def __len__(self) -> int:
        return len(self._papers)

    def covers(self, papers: npt.NDArray[np.int32], hashes: IntArray) -> Mask:
        """Which of these papers, with vectors of the texts of these hashes, the index covers."""
        at = np.minimum(np.searchsorted(self._papers, papers), len(self._papers) - 1)
        return np.asarray((self._papers[at] == papers) & (self._hashes[at] == hashes))

    def search(self, code: npt.NDArray[np.int8], count: int) -> IntArray:
        """About the `count` papers nearest to an int8 vector, some of which may no longer be covered."""
        return np.asarray(self._graph.search(code, count, threads=1, dtype="i8").keys).astype(np.int64)


def refresh(store: VectorStore, live: IntArray, limit: int, progress: Progress = SILENT) -> bool:
    """Build the index if the store is large and much of it is not covered; returns whether it was built.

    `live` are the papers of the library. Only the process that writes to the store may call it.
    """
    parts = [(segment, current & np.isin(segment.papers, live)) for segment, current in store.segments()]
    count = sum(int(np.count_nonzero(mask)) for _, mask in parts)
    if count <= limit:
        return False
    present = Neighbours.open(store)
    if present is not None:
        covered = sum(int(np.count_nonzero(present.covers(part.papers, part.hashes) & mask)) for part, mask in parts)
        if count - covered <= _STALE * count and len(present) - covered <= _STALE * len(present):
            return False
    try:
        graph = _new_graph(store.dimension)
    except ImportError:
        return False
    progress.start("indexing vectors", count, "papers")
    for part, mask in parts:
        rows = np.flatnonzero(mask)
        for at in range(0, len(rows), _AT_ONCE):
            batch = rows[at : at + _AT_ONCE]
            graph.add(part.papers[batch].astype(np.uint64), part.codes[batch], threads=threads.count(), dtype="i8")
            progress.advance(len(batch))
    papers = np.concatenate([part.papers[mask] for part, mask in parts])
    hashes = np.concatenate([part.hashes[mask] for part, mask in parts])
    order = np.argsort(papers)
    _commit(store, graph, papers[order], hashes[order])
    return True


def _commit(store: VectorStore, graph: Any, papers: npt.NDArray[np.int32], hashes: IntArray) -> None:
    name = uuid4().hex[:12]
    covered_bytes, _ = write_arrays(_covered_file(store, name), {"papers": papers, "hashes": hashes})
    path = _graph_file(store, name)
    with replaced(path) as part:
        graph.save(part)
    file = path.stat()
    store.keep_neighbours(NeighbourFiles(name, file.st_size, checksum(path), file.st_mtime_ns, covered_bytes))
    # Delete what earlier builds left, also those that were killed.
    for pattern in ("*.near*", "*.covered*"):
        for old in store.folder.glob(pattern):
            if not old.name.startswith(name):
                old.unlink(missing_ok=True)


def _new_graph(dimension: int) -> Any:
    from usearch.index import Index

    # The cosine of int8 vectors ignores their scales, which is right for vectors of length 1.
    return Index(
        ndim=dimension,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION,
        expansion_search=_EXPANSION,
        enable_key_lookups=False,
    )


def _graph_file(store: VectorStore, name: str) -> Path:
    return store.folder / f"{name}.near"


def _covered_file(store: VectorStore, name: str) -> Path:
    return store.folder / f"{name}.covered"
