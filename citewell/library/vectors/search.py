"""The papers whose vectors are nearest to a query's.

The scan compares every int8 vector with the query as int8 and sums the products as integers: in numpy at first, compiled once
many have been scanned, with the same result. Twice as many papers as requested are then scored with the query in single
precision, and that score counts. A paper with several vectors, one for each sentence, scores as its nearest. A library large
enough to have a neighbour index uses that instead of the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.library.library import Library
from citewell.library.vectors.neighbours import Neighbours
from citewell.library.vectors.store import Vectors, VectorStore, quantised
from citewell.models import weights
from citewell.types import Float32Array, Int8Array, IntArray, Mask

MayFind = Callable[[IntArray], Mask]

_PATIENCE = 3_000_000
"""How many vectors numpy scans in the time that loading numba takes, roughly."""
_AT_ONCE = 1 << 14
_SAMPLED = 64
"""One score in this many is sampled to estimate where the top begins."""
_BEYOND = 16
_FETCHED = 500
"""How many papers the neighbour index returns beyond twice the requested number: more means fewer misses."""

_compiled: Callable[..., Any] | None = None
_scanned = 0


class Rows:
    """The vectors of all segments in a row, and which of them are current."""

    def __init__(self, parts: Sequence[tuple[Vectors, Mask]]) -> None:
        parts = [_without_gaps(segment, counts) for segment, counts in parts if counts.any()]
        self.segments = [segment for segment, _ in parts]
        self.starts = np.cumsum([0, *(len(segment.papers) for segment in self.segments)])
        self.papers = np.concatenate([np.zeros(0, np.int64), *(segment.papers for segment in self.segments)])
        counts = np.concatenate([np.zeros(0, bool), *(counts for _, counts in parts)])
        self.counts = None if counts.all() else counts
        """None where all are current."""

    @cached_property
    def each(self) -> int:
        """How many vectors a paper has, on average, rounded up."""
        return -(-len(self.papers) // max(1, len(np.unique(self.papers))))

    @cached_property
    def _sorted(self) -> tuple[IntArray, IntArray]:
        """The papers with a current vector in ascending order, and their positions."""
        places = np.arange(len(self.papers)) if self.counts is None else np.flatnonzero(self.counts)
        places = places[np.argsort(self.papers[places], kind="stable")]
        return self.papers[places], places

    def places(self, papers: IntArray) -> IntArray:
        """Where the first vectors of these papers are, -1 for those that have none."""
        known, places = self._sorted
        if not len(known):
            return np.full(len(papers), -1)
        at = np.minimum(np.searchsorted(known, papers), len(known) - 1)
        return np.where(known[at] == papers, places[at], -1)

    def all_places(self, papers: IntArray) -> tuple[IntArray, IntArray]:
        """Where all vectors of these papers are, one paper after the other, and how many each has."""
        known, places = self._sorted
        first, end = np.searchsorted(known, papers), np.searchsorted(known, papers, "right")
        counts = end - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return places[np.repeat(first, counts) + within], counts


def _without_gaps(segment: Vectors, counts: Mask) -> tuple[Vectors, Mask]:
    """A segment without its outdated vectors, if they are at least half of it."""
    if np.count_nonzero(counts) > len(counts) // 2:
        return segment, counts
    cut = Vectors(segment.papers[counts], segment.hashes[counts], segment.codes[counts], segment.scales[counts])
    return cut, counts[counts]


class VectorSearch:
    """The vectors of one encoder and text, opened for search."""

    def __init__(self, parts: Sequence[tuple[Vectors, Mask]], neighbours: Neighbours | None = None) -> None:
        self.rows = Rows(parts)
        self._neighbours = neighbours
        if neighbours is not None:
            self._others = Rows([(part, counts & ~neighbours.covers(part.papers, part.hashes)) for part, counts in parts])

    def nearest(self, query: Float32Array, size: int, may_find: MayFind) -> tuple[IntArray, Float32Array]:
        """The `size` papers nearest to the query among those that pass the filters, and their cosines, best first.

        A neighbour index may miss a few of the papers that it covers. If filters leave fewer than `size` of its papers, all
        vectors are scanned instead, which is exact but slower.
        """
        papers = self._from_neighbours(query, size, may_find)
        if papers is None:
            papers = candidates(self.rows, query, (2 * size + _BEYOND) * self.rows.each, may_find)
        papers = np.unique(papers)
        cosines = self.cosines(query, papers)
        best = np.lexsort((papers, -cosines))[:size]
        return papers[best], cosines[best]

    def cosines(self, query: Float32Array, papers: IntArray) -> Float32Array:
        """The cosine of each paper with the query; NaN for papers without a vector."""
        every, counts = self.all_cosines(query, papers)
        nearest = np.full(len(papers), np.nan, np.float32)
        if len(every):
            nearest[counts > 0] = np.maximum.reduceat(every, (np.cumsum(counts) - counts)[counts > 0])
        return nearest

    def all_cosines(self, query: Float32Array, papers: IntArray) -> tuple[Float32Array, IntArray]:
        """The cosines of all vectors of some papers, one paper after the other, and how many each paper has."""
        places, counts = self.rows.all_places(papers)
        cosines = np.zeros(len(places), np.float32)
        for segment, start, end in zip(self.rows.segments, self.rows.starts, self.rows.starts[1:], strict=False):
            here = (places >= start) & (places < end)
            at = places[here] - start
            # Row by row, so that a paper's score is the same, to the last bit, whichever other papers are scored.
            cosines[here] = (segment.codes[at] * query).sum(axis=1) * segment.scales[at]
        return cosines, counts

    def _from_neighbours(self, query: Float32Array, size: int, may_find: MayFind) -> IntArray | None:
        """Candidates from the neighbour index; None if there is none or it finds too few."""
        count = 2 * size + _FETCHED
        if self._neighbours is None or count >= len(self._neighbours):  # a scan of nearly all papers is exact
            return None
        code, _ = quantised(query[None])
        papers = self._neighbours.search(code[0], count)
        papers = papers[(self.rows.places(papers) >= 0) & (self._others.places(papers) < 0)]
        papers = papers[may_find(papers)]
        if len(papers) < size:
            return None
        return np.concatenate([papers, candidates(self._others, query, 2 * size + _BEYOND, may_find)])


def open_vectors(library: Library, encoder: str, text: str) -> VectorSearch | None:
    """The vectors of a library, opened once with its index; None where there are none."""
    index = library.index
    place = (f"{encoder} {weights.fingerprint(encoder)}", text)
    opened: VectorSearch | None = index.opened_vectors.get(place)
    if opened is None:
        store = VectorStore(library.folder, encoder, text)
        if not store.exists:
            return None
        live = index.listed("own")
        parts = [(segment, current & np.isin(segment.papers, live)) for segment, current in store.segments()]
        opened = index.opened_vectors[place] = VectorSearch(parts, Neighbours.open(store))
    return opened


def candidates(rows: Rows, query: Float32Array, count: int, may_find: MayFind) -> IntArray:
    """The `count` papers nearest to the query by the scan, among those that pass the filters."""
    code, scale = quantised(query[None])
    scores = [scan(segment.codes, segment.scales, code[0], float(scale[0])) for segment in rows.segments]
    near = scores[0] if len(scores) == 1 else np.concatenate([np.zeros(0, np.float32), *scores])
    if rows.counts is not None:
        near[~rows.counts] = -np.inf
    # Filtering every paper takes as long as the scan; usually it is enough to filter the nearest.
    places = _allowed(rows, near, _highest(near, 2 * count), may_find)
    if len(places) < count < len(near):
        places = _allowed(rows, near, np.arange(len(near)), may_find)
    return rows.papers[places[_highest(near[places], count)]]


def _allowed(rows: Rows, near: Float32Array, places: IntArray, may_find: MayFind) -> IntArray:
    places = places[near[places] > -np.inf]
    return places[may_find(rows.papers[places])]


def _highest(scores: Float32Array, count: int) -> IntArray:
    """The places of the `count` highest scores, in no order."""
    if count >= len(scores):
        return np.arange(len(scores))
    sample = scores[::_SAMPLED]
    rank = 2 * count // _SAMPLED + 8
    if rank < len(sample):
        likely = np.flatnonzero(scores >= np.partition(sample, len(sample) - rank)[len(sample) - rank])
        if len(likely) >= count:
            return likely[np.argpartition(-scores[likely], count - 1)[:count]]
    return np.argpartition(-scores, count - 1)[:count]


def scan(codes: Int8Array, scales: Float32Array, query: Int8Array, scale: float) -> Float32Array:
    """The inner product of each vector with the query's."""
    global _scanned
    if _compiled is None:
        _scanned += len(codes)
        if _scanned > _PATIENCE:
            load_compiled()
    products = products_in_numpy(codes, query) if _compiled is None else _run(codes, query)
    scores = products.astype(np.float32)
    scores *= scales
    scores *= np.float32(scale)
    return scores


def load_compiled() -> None:
    """Use the compiled loop from now on."""
    global _compiled
    from citewell import kernels as compiled

    _compiled = compiled.products


def products_in_numpy(codes: Int8Array, query: Int8Array) -> npt.NDArray[np.int32]:
    """Integer inner products, some thousand vectors at a time so that their wider copies stay in the cache.

    The products of two int8 vectors of up to a thousand components fit the 24 bits that single precision represents exactly.
    """
    products = np.empty(len(codes), np.int32)
    wide = query.astype(np.float32)
    for start in range(0, len(codes), _AT_ONCE):
        products[start : start + _AT_ONCE] = codes[start : start + _AT_ONCE].astype(np.float32) @ wide
    return products


def _run(codes: Int8Array, query: Int8Array) -> npt.NDArray[np.int32]:
    assert _compiled is not None
    products = np.empty(len(codes), np.int32)
    _compiled(codes, query, products)
    return products
