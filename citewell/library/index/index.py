"""The index as a reader sees it: for every field and block a stack of mapped segments, and exact global statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.arrays import DamagedFileError, map_arrays
from citewell.library.index import manifest as manifests
from citewell.library.index.graph import Graph
from citewell.library.index.links import DIRECTIONS, Links
from citewell.library.index.lookup import Places, find
from citewell.library.index.manifest import Entry, Manifest
from citewell.library.index.postings import BLOCK, BLOCK_BITS, FIELDS, GONE, JOINED, Postings
from citewell.library.store import schema
from citewell.text.stemming import ENGLISH
from citewell.types import Float32Array, Float64Array, IntArray, Mask, PaperNumbers

_CACHED_NORMS = 4


_SEARCHED = 8
"""A binary search costs about as much as reading this many postings."""


@dataclass
class Segment:
    """One open segment."""

    entry: Entry
    postings: Postings
    shadowed: Mask | None = None
    """Which of its papers a newer segment has replaced; None if there are none."""
    _norms: dict[tuple[float, float, float], Float32Array] = field(default_factory=dict, repr=False)

    @cached_property
    def first(self) -> int:
        """The number within the block from which postings count."""
        return self.postings.first

    @cached_property
    def span(self) -> int:
        """How many consecutive numbers the segment's papers cover."""
        return self.postings.span

    @cached_property
    def lengths(self) -> Float64Array:
        """The length of each paper in the segment's span, infinite where the segment has no live entry for it."""
        postings = self.postings
        lengths = np.full(postings.span, np.inf)
        gone = postings.lengths == GONE
        if self.shadowed is not None:
            gone |= self.shadowed
        at = postings.papers.astype(np.int64) - postings.first
        lengths[at[~gone]] = postings.lengths[~gone]
        return lengths

    def numbers(self) -> PaperNumbers:
        """The papers that have a live entry in this segment."""
        return np.flatnonzero(np.isfinite(self.lengths)) + self.postings.first + (self.entry.block << BLOCK_BITS)

    @cached_property
    def whole(self) -> bool:
        """Whether every posting counts."""
        return self.shadowed is None

    @cached_property
    def totals(self) -> tuple[int, int]:
        """The number of live texts, and the number of their terms."""
        if self.whole:
            return self.entry.texts, self.entry.terms
        texts = self.lengths[np.isfinite(self.lengths) & (self.lengths > 0)]
        return len(texts), int(texts.sum())

    def norms(self, k1: float, b: float, average: float) -> Float32Array:
        """The length part of BM25's denominator for each paper in the span; the last few results are cached."""
        key = (k1, b, average)
        norms = self._norms.get(key)
        if norms is None:
            if len(self._norms) >= _CACHED_NORMS:
                self._norms.clear()
            norms = self._norms[key] = self._computed_norms(k1, b, average)
        return norms

    def _computed_norms(self, k1: float, b: float, average: float) -> Float32Array:
        codes = self._length_codes
        lengths = np.arange(codes.max(initial=0), dtype=np.float64)
        # The smallest float instead of zero (for k1 = 0) keeps 0 / 0 out of the kernel.
        norms = np.full(len(lengths) + 1, np.inf, np.float32)
        norms[1:] = np.maximum(k1 * (1 - b + b * lengths / average), np.finfo(np.float32).tiny)
        return norms[codes]

    @cached_property
    def _length_codes(self) -> IntArray:
        """For each paper in the span its length plus 1, or 0 where it has no live entry: norms are computed once per length."""
        return np.where(np.isfinite(self.lengths), self.lengths + 1, 0).astype(np.int64)

    def look_up(self, terms: IntArray) -> Places:
        """Where the postings of these terms (hashes) are."""
        at, places = find(self.postings, terms)
        if self.whole or not len(self.postings.terms):
            return places
        return places._replace(counts=self._live_counts(at, places))

    def _live_counts(self, at: IntArray, places: Places) -> IntArray:
        """In how many live papers each term is; each term of the segment is counted once for as long as the index is open."""
        known = places.counts > 0
        new = np.flatnonzero(known & (self._counted[at] < 0))
        if len(new):
            self._counted[at[new]] = places.counts[new] - self._shadowed_counts(places, new)
        return np.where(known, self._counted[at], 0).astype(np.int64)

    @cached_property
    def _counted(self) -> npt.NDArray[np.int32]:
        """The live counts of the terms that have been looked up, -1 for the others."""
        return np.full(len(self.postings.terms), -1, np.int32)

    @cached_property
    def _shadowed_docs(self) -> npt.NDArray[np.uint16]:
        """The papers that a newer segment has replaced, as distances from the segment's first."""
        return np.asarray(self.postings.papers[self.shadowed] - self.postings.papers[0], np.uint16)

    @cached_property
    def _is_shadowed(self) -> Mask:
        """For each paper in the span whether a newer segment has replaced it."""
        mask = np.zeros(self.span, bool)
        mask[self._shadowed_docs] = True
        return mask

    def _shadowed_counts(self, places: Places, terms: IntArray) -> IntArray:
        """In how many shadowed papers each of some looked-up terms is."""
        shadowed = self._shadowed_docs
        counts = np.zeros(len(terms), np.int64)
        for at, term in enumerate(terms.tolist()):
            row = places.rows[term]
            if row >= 0:
                counts[at] = np.count_nonzero(self.postings.dense[row][shadowed])
            else:
                docs = self.postings.docs[places.starts[term] : places.ends[term]]
                if len(docs) < _SEARCHED * len(shadowed):
                    counts[at] = np.count_nonzero(self._is_shadowed[docs])
                else:  # a few papers were replaced: searching for them is shorter than reading a long list
                    place = np.minimum(docs.searchsorted(shadowed), len(docs) - 1)
                    counts[at] = np.count_nonzero(docs[place] == shadowed)
        return counts

    def posting(self, places: Places, term: int) -> tuple[IntArray, IntArray]:
        """Papers (distances from the segment's first) and frequencies of one looked-up term."""
        row = places.rows[term]
        if row >= 0:
            dense = self.postings.dense[row]
            docs = np.flatnonzero(dense)
            return docs, dense[docs].astype(np.int64)
        here = slice(places.starts[term], places.ends[term])
        return self.postings.docs[here].astype(np.int64), self.postings.frequencies[here].astype(np.int64)

    def frequencies(self, places: Places, term: int, docs: IntArray) -> IntArray:
        """How often one looked-up term is in the papers at these distances from the segment's first."""
        row = places.rows[term]
        if row >= 0:
            return np.asarray(self.postings.dense[row, docs], np.int64)
        start, end = places.starts[term], places.ends[term]
        if start == end:
            return np.zeros(len(docs), np.int64)
        listed = self.postings.docs[start:end]
        at = np.minimum(listed.searchsorted(docs.astype(listed.dtype)), len(listed) - 1)
        return np.where(listed[at] == docs, self.postings.frequencies[start:end][at], 0).astype(np.int64)


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
        self.opened_vectors: dict[tuple[str, str], Any] = {}
        """Vectors that are open, by encoder and text."""
        self.warnings = list(warnings)
        """What is damaged, one line each; the rest of the index works."""
        self._stacks = stacks
        self._dates: dict[int, npt.NDArray[np.int32]] = {}
        self._listed: dict[str, PaperNumbers] = {}
        self.blocks = sorted({block for _, block in stacks})
        self.languages = tuple(sorted({language for entry in self.entries for language in entry.languages})) or (ENGLISH,)
        """The languages in which its texts were analysed."""

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
        totals = [segment.totals for segment in self.segments(name)]
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
        if block not in self._dates:
            dates = np.zeros(BLOCK, np.int32)
            for segment in self.stack(FIELDS[0], block):
                dates[segment.postings.papers] = segment.postings.dates
            dates.setflags(write=False)
            self._dates[block] = dates
        return self._dates[block]

    def listed(self, name: str) -> PaperNumbers:
        """The numbers of all papers that have a live entry in a field, ascending."""
        if name not in self._listed:
            segments = [each for each in self.segments(name) if each.entry.field == name]
            numbers = np.sort(np.concatenate([np.zeros(0, np.int64), *(segment.numbers() for segment in segments)]))
            numbers.setflags(write=False)
            self._listed[name] = numbers
        return self._listed[name]


def _shadow(stack: list[Segment]) -> None:
    """Mark in each segment the papers that newer segments have replaced."""
    newer = np.zeros(BLOCK, bool)
    for segment in reversed(stack):
        if len(stack) > 1:
            covered = newer[segment.postings.papers]
            if covered.any():
                segment.shadowed = covered
        newer[segment.postings.papers] = True


def _laid_under(own: list[Segment], joined: list[Segment]) -> list[Segment]:
    """The stack of a joined field: the own text's segments contain the papers that the joined ones do not have."""
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
