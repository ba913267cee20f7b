"""Building segments: the texts of papers, analysed, as postings in new files.

Nothing here knows the manifest or changes the store, so that it can happen in any process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from citewell.arrays import write_arrays
from citewell.library.index import links, postings
from citewell.library.index.links import DIRECTIONS, Links
from citewell.library.index.manifest import Entry
from citewell.library.index.postings import AUTHORS, BITS, BLOCK, BLOCK_BITS, FIELDS, GONE, JOINED, STALE_BY, Postings
from citewell.library.store.store import Store
from citewell.text.analysis import Vocabulary
from citewell.text.author_terms import authors_text
from citewell.text.languages import analysis_language
from citewell.text.stemming import ENGLISH

_MAX_TERMS = 16_000_000
"""A segment is cut before the terms of its texts outgrow this many: full texts stay in bounded memory too."""
_MAX_VOCABULARY = 1_000_000
_TEXTS_AT_ONCE = 256

Dirty = Sequence[tuple[int, int]]
"""Papers of one block, by ascending number, and the bits of their fields that are out of date."""
Text = tuple[int, int, tuple[str, ...] | None]
"""Number and date of a paper and its text in one field, None where it has none (any more). Its parts may be in different
languages."""


@dataclass
class _Pending:
    """Analysed texts that are not in a segment yet."""

    papers: list[int] = field(default_factory=list)
    dates: list[int] = field(default_factory=list)
    lengths: list[npt.NDArray[np.uint32]] = field(default_factory=list)
    numbers: list[npt.NDArray[np.int32]] = field(default_factory=list)
    languages: set[str] = field(default_factory=set)
    terms: int = 0

    def add(self, texts: Sequence[Text], numbers: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32]) -> None:
        self.papers += [num & (BLOCK - 1) for num, _, _ in texts]
        self.dates += [date for _, date, _ in texts]
        self.lengths.append(np.where([text is None for _, _, text in texts], GONE, lengths.astype(np.uint32)))
        self.numbers.append(numbers)
        self.terms += len(numbers)

    def only_gone(self) -> bool:
        return all((lengths == GONE).all() for lengths in self.lengths)


class Builder:
    """Writes segment files; remembers the words it has seen."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._vocabulary = Vocabulary()

    def build(self, dirty: Dirty, stacked: Sequence[str]) -> list[Entry]:
        """Build segments for what is out of date; `stacked` names the fields that already have segments in the block."""
        texts = {name: self._texts(name, [num for num, fields in dirty if fields & BITS[name]]) for name in FIELDS}
        texts |= {name: self._joined_texts(other, dirty) for name, other in JOINED.items()}
        texts[AUTHORS] = self._names([num for num, fields in dirty if fields & STALE_BY[AUTHORS]])
        block = dirty[0][0] >> BLOCK_BITS
        entries = [entry for name in texts for entry in self._field(name, block, texts[name], name in stacked)]
        return entries + [entry for name in DIRECTIONS for entry in self._links(name, block, dirty, name in stacked)]

    def _links(self, name: str, block: int, dirty: Dirty, stacked: bool) -> Iterator[Entry]:
        nums = np.array([num for num, bits in dirty if bits & links.BITS[name]], np.int64)
        pairs = np.array(self._store.links(name, nums.tolist()) if len(nums) else [], np.int64).reshape(-1, 2)
        counts = np.bincount(np.searchsorted(nums, pairs[:, 0]), minlength=len(nums))
        # A paper without links need only be listed where an older segment lists it too.
        listed = np.full(len(nums), True) if stacked else counts > 0
        if listed.any():
            built = links.build(nums[listed] & (BLOCK - 1), counts[listed], pairs[:, 1])
            yield write_links(self._folder, name, block, built)

    def _field(self, name: str, block: int, texts: Iterator[Text], stacked: bool) -> Iterator[Entry]:
        pending = _Pending()
        while chunk := list(islice(texts, _TEXTS_AT_ONCE)):
            parts = [part for _, _, text in chunk for part in text or ()]
            languages = [ENGLISH if name == AUTHORS else analysis_language(part) for part in parts]
            numbers, lengths = self._vocabulary.numbers(parts, languages)
            owners = np.repeat(np.arange(len(chunk)), [len(text or ()) for _, _, text in chunk])
            pending.add(chunk, numbers, np.bincount(owners, lengths, len(chunk)).astype(np.int32))
            pending.languages.update(languages)
            if pending.terms > _MAX_TERMS:
                yield write_segment(self._folder, name, block, self._postings(pending), pending.languages)
                pending = _Pending()
        # A paper that is gone need only be listed where an older segment lists it too.
        if pending.papers and (stacked or not pending.only_gone()):
            yield write_segment(self._folder, name, block, self._postings(pending), pending.languages)

    def _texts(self, name: str, nums: Sequence[int]) -> Iterator[Text]:
        if name == "own":
            yield from self._own_texts(nums)
        elif nums:
            texts = self._store.cited_texts(nums) if name == "cited" else self._store.citing_texts(nums)
            for num in nums:
                yield num, 0, ("\n".join(texts[num]),) if num in texts else None

    def _joined_texts(self, other: str, dirty: Dirty) -> Iterator[Text]:
        """Own text joined with another, for every paper that has the other or may have lost it."""
        nums = [num for num, fields in dirty if fields & (BITS["own"] | BITS[other])]
        lost = {num for num, fields in dirty if fields & BITS[other]}
        others = {num: text for num, _, text in self._texts(other, nums) if text is not None}
        own = {num: (date, text) for num, date, text in self._store.own_texts(list(others))}
        for num in nums:
            if num in own:
                date, text = own[num]
                yield num, date, (text, *others[num])
            elif num in lost:
                yield num, 0, None

    def _names(self, nums: Sequence[int]) -> Iterator[Text]:
        """The names of the authors of every number, in order."""
        authors = self._store.authors(nums)
        for num in nums:
            yield num, 0, (authors_text(authors[num]),) if authors.get(num) else None

    def _own_texts(self, nums: Sequence[int]) -> Iterator[Text]:
        """The own text of every number, in order; None for papers that the store no longer has."""
        expected = iter(nums)
        for num, date, text in self._store.own_texts(nums):
            for gone in expected:
                if gone == num:
                    break
                yield gone, 0, None
            yield num, date, (text,)
        for gone in expected:
            yield gone, 0, None

    def _postings(self, pending: _Pending) -> Postings:
        built = postings.build(
            np.array(pending.papers, np.uint16),
            np.concatenate(pending.lengths),
            np.array(pending.dates, np.int32),
            np.concatenate(pending.numbers),
            np.array(self._vocabulary.hashes, np.int64),
        )
        if len(self._vocabulary) > _MAX_VOCABULARY:
            self._vocabulary = Vocabulary()
        return built


def write_segment(folder: Path, name: str, block: int, segment: Postings, languages: Iterable[str]) -> Entry:
    """Write a segment of postings under a name that no other has."""
    file = _fresh_name(name, block)
    size, crc = write_arrays(folder / file, segment._asdict())
    texts = segment.lengths[(segment.lengths != GONE) & (segment.lengths > 0)]
    terms = int(texts.sum(dtype=np.int64))
    return Entry(file, name, block, len(segment.papers), len(texts), terms, size, crc, sorted(languages))


def write_links(folder: Path, name: str, block: int, segment: Links) -> Entry:
    """Write a segment of links under a name that no other has."""
    file = _fresh_name(name, block)
    size, crc = write_arrays(folder / file, segment._asdict())
    linked = int(np.count_nonzero(np.diff(segment.starts.astype(np.int64))))
    return Entry(file, name, block, len(segment.papers), linked, len(segment.targets), size, crc)


def _fresh_name(name: str, block: int) -> str:
    return f"{name}-{block:05}-{uuid4().hex[:12]}.seg"
