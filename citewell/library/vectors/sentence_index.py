"""Approximate search of sentence vectors: an HNSW graph (usearch) of every vector of every sentence of a library.

SEMISER makes several vectors of a sentence; each is an entry, and the sentence is found by its nearest one. The graph belongs
to one file of vectors (`citewell.library.vectors.sentences`) and is computed again with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from citewell import threads
from citewell.extras import require
from citewell.files import replaced
from citewell.library.library import Library
from citewell.library.vectors import sentences
from citewell.progress import SILENT, Progress
from citewell.types import Float32Array, IntArray

_CONNECTIVITY, _EXPANSION = 16, 128
_AT_ONCE = 4096


class SentenceIndex:
    """The graph of a library, mapped."""

    def __init__(self, graph: Any, views: int) -> None:
        self._graph, self._views = graph, views

    def search(self, queries: Float32Array, count: int) -> IntArray:
        """The rows of the sentences among the about `count` vectors nearest to each query vector, ascending."""
        found = [self._graph.search(query.astype(np.float16), count, threads=1).keys for query in queries]
        return np.unique(np.concatenate(found).astype(np.int64) // self._views)


def make(library: Library, model: str, progress: Progress = SILENT) -> None:
    """Build the graph of the sentence vectors that the library has, unless it exists."""
    require("usearch")
    path = _path(library, model)
    stored = sentences.open_vectors(library, model)
    if stored is None or path.exists():
        return
    graph = _new_graph(stored.vectors.shape[2])
    count, views = stored.vectors.shape[:2]
    progress.start("indexing sentences", count, "sentences")
    for start in range(0, count, _AT_ONCE):
        batch = np.ascontiguousarray(stored.vectors[start : start + _AT_ONCE]).reshape(-1, stored.vectors.shape[2])
        keys = np.arange(start * views, start * views + len(batch), dtype=np.uint64)
        known = batch.any(axis=1)  # a sentence without a known word is near to nothing
        graph.add(keys[known], batch[known], threads=threads.count())
        progress.advance(min(_AT_ONCE, count - start))
    with replaced(path) as part:
        graph.save(part)
    for other in path.parent.glob(f"{model}.*.hnsw"):
        if other != path:
            other.unlink()


def open_index(library: Library, model: str) -> SentenceIndex | None:
    """The graph of the library as it is now; None if it was not built."""
    path = _path(library, model)
    place = (path.name, sentences.FOLDER)
    if place not in library.index.opened_vectors and path.exists():
        stored = sentences.open_vectors(library, model)
        if stored is None:
            return None
        graph = _new_graph(stored.vectors.shape[2])
        graph.view(path)
        library.index.opened_vectors[place] = SentenceIndex(graph, stored.vectors.shape[1])
    index: SentenceIndex | None = library.index.opened_vectors.get(place)
    return index


def _path(library: Library, model: str) -> Path:
    return sentences.path_of(library, model).with_suffix(".hnsw")


def _new_graph(dimensions: int) -> Any:
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="f16",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION,
        expansion_search=_EXPANSION,
        enable_key_lookups=False,
    )
