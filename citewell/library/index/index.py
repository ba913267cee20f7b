"""The index as a reader sees it: for every field and block a stack of mapped segments, and exact global statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.arrays import DamagedFileError, map_arrays
from citewell.library.index import manifest as manifests
from citewell.library.index.graph import Graph
from citewell.library.index.links import DIRECTIONS, Links
from citewell.library.index.manifest import Entry, Manifest
from citewell.library.index.postings import BLOCK, BLOCK_BITS, FIELDS, GONE, JOINED, Postings
from citewell.library.store import schema


@dataclass
class Segment:
    """One open segment."""

    entry: Entry
    postings: Postings
    shadowed: npt.NDArray[np.bool_] | None = None
    """Which of its papers a newer segment speaks for; None where none is."""
    _norms: tuple[tuple[float, float, float], npt.NDArray[np.float32]] | None = field(default=None, repr=False)

    @cached_property
    def lengths(self) -> npt.NDArray[np.float64]:
        """The length of each paper that this segment covers, infinite for those it does not speak for."""
        postings = self.postings
        lengths = np.full(postings.span, np.inf)
        gone = postings.lengths == GONE
        if self.shadowed is not None:
            gone |= self.shadowed
        at = postings.papers.astype(np.int64) - postings.first
        lengths[at[~gone]] = postings.lengths[~gone]
        return lengths

    def numbers(self) -> npt.NDArray[np.int64]:
        """The papers that this segment speaks for."""
        return np.flatnonzero(np.isfinite(self.lengths)) + self.postings.first + (self.entry.block << BLOCK_BITS)

    @cached_property
    def whole(self) -> bool:
        """Whether every posting counts."""
        return self.shadowed is None

    def totals(self) -> tuple[int, int]:
        """How many texts the segment speaks for and how many terms they have."""
        if self.whole:
            return self.entry.texts, self.entry.terms
        texts = self.lengths[np.isfinite(self.lengths) & (self.lengths > 0)]
        return len(texts), int(texts.sum())

    def norms(self, k1: float, b: float, average: float) -> npt.NDArray[np.float32]:
        """The length part of BM25's denominator for each covered paper; the last one asked for is kept."""
        key = (k1, b, average)
        if self._norms is None or self._norms[0] != key:
            # The smallest float instead of zero (for k1 = 0) keeps 0 / 0 out of the kernel.
            spoken = np.isfinite(self.lengths)
            norms = np.full(len(spoken), np.inf, np.float32)
            norms[spoken] = np.maximum(k1 * (1 - b + b * self.lengths[spoken] / average), np.finfo(np.float32).tiny)
            self._norms = key, norms
        return self._norms[1]

    def look_up(self, terms: npt.NDArray[np.int64]) -> Places:
        """Where the postings of these terms (hashes) are."""
        postings = self.postings
        if not len(postings.terms):
            nothing = np.zeros(len(terms), np.int64)
            return Places(nothing, nothing, nothing - 1, nothing)
        at = np.searchsorted(postings.terms, terms)
        at[at == len(postings.terms)] = 0
        known = postings.terms[at] == terms
        starts = postings.starts[at].astype(np.int64)
        ends = np.where(known, postings.starts[at + 1], starts).astype(np.int64)
        rows = np.full(len(terms), -1, np.int64)
        if len(postings.dense_terms):
            row = np.searchsorted(postings.dense_terms, at)
            row[row == len(postings.dense_terms)] = 0
            rows = np.where(known & (postings.dense_terms[row] == at), row, -1)
        places = Places(starts, ends, rows, np.where(known, postings.counts[at], 0).astype(np.int64))
        return places if self.whole else places._replace(counts=self._live_counts(places))

    def _live_counts(self, places: Places) -> npt.NDArray[np.int64]:
        counts = places.counts.copy()
        live = np.isfinite(self.lengths)
        for term in np.flatnonzero(counts):
            row = places.rows[term]
            docs = self.postings.docs[places.starts[term] : places.ends[term]]
            counts[term] = np.count_nonzero(live & (self.postings.dense[row] != 0) if row >= 0 else live[docs])
        return counts

    def posting(self, places: Places, term: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Papers (distances from the segment's first) and frequencies of one looked-up term."""
        row = places.rows[term]
        if row >= 0:
            dense = self.postings.dense[row]
            docs = np.flatnonzero(dense)
            return docs, dense[docs].astype(np.int64)
        here = slice(places.starts[term], places.ends[term])
        return self.postings.docs[here].astype(np.int64), self.postings.frequencies[here].astype(np.int64)

    def frequencies(self, places: Places, term: int, wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How often one looked-up term is in the papers at these distances from the segment's first."""
        row = places.rows[term]
        if row >= 0:
            return np.asarray(self.postings.dense[row, wanted], np.int64)
        start, end = places.starts[term], places.ends[term]
        if start == end:
            return np.zeros(len(wanted), np.int64)
        docs = self.postings.docs[start:end]
        at = np.minimum(docs.searchsorted(wanted.astype(docs.dtype)), len(docs) - 1)
        return np.where(docs[at] == wanted, self.postings.frequencies[start:end][at], 0).astype(np.int64)


class Places(NamedTuple):
    """Where a segment keeps the postings of each term of a query."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    """The dense row of each term, or -1."""
    counts: npt.NDArray[np.int64]
    """In how many papers that still count the term is."""


class Index:
    """All segments of a library, mapped."""

    def __init__(
        self,
        generation: int,
        stacks: dict[tuple[str, int], list[Segment]],
        warnings: Sequence[str],
        graph: Graph | None = None,
        entries: Sequence[Entry] = (),
    ) -> None:
        self.generation = generation
        self.entries = list(entries)
        """All segment files."""
        self.graph = graph or Graph({})
        """The citations among the papers."""
        self.shelves: dict[tuple[str, str], Any] = {}
        """Vectors that retrieval has opened, by encoder and text."""
        self.warnings = list(warnings)
        """What is damaged, one line each; the rest of the index works."""
        self._stacks = stacks
        self.blocks = sorted({block for _, block in stacks})

    @classmethod
    def open(cls, library: Path) -> Index:
        if not manifests.exists(library) and (library / schema.FILE).exists():
            return cls(0, {}, [f"the index of {library} is missing; run 'citewell library rebuild'"])
        manifest = manifests.load(library)
        while True:
            index, missing = cls._map(library, manifest)
            if not missing:
                return index
            newer = manifests.load(library)
            if newer.generation == manifest.generation:
                return index
            manifest = newer

    @classmethod
    def _map(cls, library: Path, manifest: Manifest) -> tuple[Index, bool]:
        stacks: dict[tuple[str, int], list[Segment]] = {}
        linked: dict[tuple[str, int], list[Links]] = {}
        warnings = []
        for entry in manifest.segments:
            try:
                arrays = map_arrays(library / manifests.FOLDER / entry.file, entry.bytes)
                if entry.field in DIRECTIONS:
                    linked.setdefault((entry.field, entry.block), []).append(Links(**arrays))
                else:
                    stacks.setdefault((entry.field, entry.block), []).append(Segment(entry, Postings(**arrays)))
            except (DamagedFileError, TypeError) as error:
                warnings.append(
                    f"index damaged ({error}): {entry.papers:,} papers may be missed; run 'citewell library rebuild'"
                )
        for stack in stacks.values():
            _shadow(stack)
        for joined in JOINED:
            for block in {block for name, block in stacks if name == FIELDS[0]}:
                stacks[joined, block] = _laid_under(stacks[FIELDS[0], block], stacks.get((joined, block), []))
        return cls(manifest.generation, stacks, warnings, Graph(linked), manifest.segments), bool(warnings)

    def stack(self, name: str, block: int) -> list[Segment]:
        """The segments of a field in a block, oldest first."""
        return self._stacks.get((name, block), [])

    def segments(self, name: str) -> Iterator[Segment]:
        """All segments of a field, by block."""
        for block in self.blocks:
            yield from self.stack(name, block)

    def totals(self, name: str) -> tuple[int, float]:
        """How many papers have a text in this field, and its mean length."""
        totals = [segment.totals() for segment in self.segments(name)]
        texts = sum(count for count, _ in totals)
        return texts, (sum(terms for _, terms in totals) / texts if texts else 1.0)

    def occurrences(self, name: str, terms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How often each term (by hash) occurs in all texts of a field."""
        total = np.zeros(len(terms), np.int64)
        for segment in self.segments(name):
            places = segment.look_up(terms)
            live = np.isfinite(segment.lengths)
            for term in np.flatnonzero(places.counts):
                docs, frequencies = segment.posting(places, int(term))
                total[term] += frequencies[live[docs]].sum()
        return total

    def dates(self, block: int) -> npt.NDArray[np.int32]:
        """The date (yyyymmdd, 0 where unknown) of each number of a block."""
        dates = np.zeros(BLOCK, np.int32)
        for segment in self.stack(FIELDS[0], block):
            dates[segment.postings.papers] = segment.postings.dates
        return dates

    def listed(self, name: str) -> npt.NDArray[np.int64]:
        """The numbers of all papers that a field has an entry for."""
        found = [
            segment.numbers() for block in self.blocks for segment in self.stack(name, block) if segment.entry.field == name
        ]
        return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _shadow(stack: list[Segment]) -> None:
    """Let each segment know which of its papers newer ones speak for."""
    newer = np.zeros(BLOCK, bool)
    for segment in reversed(stack):
        if len(stack) > 1:
            covered = newer[segment.postings.papers]
            if covered.any():
                segment.shadowed = covered
        newer[segment.postings.papers] = True


def _laid_under(own: list[Segment], joined: list[Segment]) -> list[Segment]:
    """The stack of a joined field: the own text's segments speak for the papers that the joined ones do not have."""
    if not joined:
        return own
    has = np.zeros(BLOCK, bool)
    for segment in joined:
        postings = segment.postings
        has[postings.first : postings.first + postings.span] |= np.isfinite(segment.lengths)
    under = []
    for segment in own:
        covered = has[segment.postings.papers]
        if segment.shadowed is not None:
            covered |= segment.shadowed
        under.append(Segment(segment.entry, segment.postings, covered if covered.any() else None))
    return under + joined
