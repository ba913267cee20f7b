"""Bringing the index up to the store: new segments for papers that changed, old segments merged in the background.

The store lists the papers whose entries are out of date. `Indexer.refresh` builds segments for them, commits a manifest, and
only then clears the list: killed at any moment, it starts again where the last manifest ends. Because the newest segment that
lists a paper speaks for it, an entry that is written twice does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from citewell.library import manifest as manifests
from citewell.library import postings
from citewell.library.arrays import map_arrays, write_arrays
from citewell.library.manifest import Entry, Manifest
from citewell.library.postings import BLOCK_BITS, FIELDS, GONE, Postings
from citewell.library.store import Store
from citewell.text.analysis import Vocabulary

_CHUNK = 1 << BLOCK_BITS
_MAX_TERMS = 16_000_000
"""A segment is cut before the terms of its texts outgrow this many: full texts stay in bounded memory too."""
_MAX_VOCABULARY = 1_000_000

Report = Callable[[int], None]
Text = tuple[int, int, str | None]
"""Number and date of a paper and its text in one field, None where it has none (any more)."""


@dataclass
class _Merge:
    """A merge under way: the entries it replaces, and the one that replaces them."""

    replaces: list[Entry]
    result: Future[Entry | None]


class Indexer:
    """The writer's side of the index; needs the library's lock."""

    def __init__(self, library: Path, store: Store) -> None:
        self._library = library
        self._store = store
        self._folder = library / manifests.FOLDER
        self._folder.mkdir(exist_ok=True)
        self._manifest = manifests.load(library)
        manifests.sweep(library, self._manifest)
        self._vocabulary = Vocabulary()
        self._background = ThreadPoolExecutor(1, "citewell-merge")
        self._merges: list[_Merge] = []
        self._retired: list[str] = []

    def refresh(self, report: Report = lambda papers: None) -> None:
        """Index everything that is out of date, block by block; `report` hears how many papers each step has done."""
        while dirty := self._store.dirty(_CHUNK):
            block = dirty[0][0] >> BLOCK_BITS
            here = [(num, fields) for num, fields in dirty if num >> BLOCK_BITS == block]
            entries = [entry for bit, field in enumerate(FIELDS) for entry in self._index(field, block, 1 << bit, here)]
            self._manifest.segments += entries
            self._commit()
            self._store.db.execute("DELETE FROM dirty WHERE paper BETWEEN ? AND ?", (here[0][0], here[-1][0]))
            self._start_merges()
            report(len(here))

    def close(self) -> None:
        """Wait for the merges under way and commit them."""
        while self._merges:
            self._merges[0].result.result()
            self._commit()
            self._start_merges()
        self._background.shutdown()

    def abandon(self) -> None:
        """Let go without waiting for anything more than the merge that is being written."""
        self._background.shutdown(cancel_futures=True)

    # -- new segments -----------------------------------------------------------------------------------------------

    def _index(self, field: str, block: int, bit: int, dirty: Sequence[tuple[int, int]]) -> Iterator[Entry]:
        nums = [num for num, fields in dirty if fields & bit]
        papers, lengths, dates, numbers = [], [], [], []
        size = 0
        for num, date, text in self._texts(field, nums) if nums else ():
            found = self._vocabulary.numbers(text) if text is not None else None
            papers.append(num & (postings.BLOCK - 1))
            lengths.append(GONE if found is None else len(found))
            dates.append(date)
            if found is not None:
                numbers.append(found)
                size += len(found)
            if size > _MAX_TERMS:
                yield self._write(field, block, self._build(papers, lengths, dates, numbers))
                papers, lengths, dates, numbers, size = [], [], [], [], 0
        if papers and not (self._is_new(field, block) and all(length == GONE for length in lengths)):
            yield self._write(field, block, self._build(papers, lengths, dates, numbers))

    def _texts(self, field: str, nums: Sequence[int]) -> Iterator[Text]:
        if field == "own":
            waiting = iter(nums)
            for num, date, text in self._store.own_texts(nums):
                for gone in waiting:
                    if gone == num:
                        break
                    yield gone, 0, None
                yield num, date, text
            for gone in waiting:
                yield gone, 0, None
        else:
            found = self._store.cited_texts(nums) if field == "cited" else self._store.citing_texts(nums)
            for num in nums:
                texts = found.get(num)
                yield num, 0, "\n".join(texts) if texts else None

    def _is_new(self, field: str, block: int) -> bool:
        return not any(entry.field == field and entry.block == block for entry in self._manifest.segments)

    def _build(self, papers: list[int], lengths: list[int], dates: list[int], numbers: list[npt.NDArray[np.int32]]) -> Postings:
        built = postings.build(
            np.array(papers, np.uint16),
            np.array(lengths, np.uint32),
            np.array(dates, np.int32),
            np.concatenate(numbers) if numbers else np.zeros(0, np.int32),
            np.array(self._vocabulary.hashes, np.int64),
        )
        if len(self._vocabulary) > _MAX_VOCABULARY:
            self._vocabulary = Vocabulary()
        return built

    def _write(self, field: str, block: int, segment: Postings) -> Entry:
        name = f"{field}-{block:05}-{uuid4().hex[:12]}.seg"
        size, crc = write_arrays(self._folder / name, segment._asdict())
        texts = segment.lengths[(segment.lengths != GONE) & (segment.lengths > 0)]
        return Entry(name, field, block, len(segment.papers), len(texts), int(texts.sum(dtype=np.int64)), size, crc)

    # -- merging ----------------------------------------------------------------------------------------------------

    def _start_merges(self) -> None:
        busy = {entry.file for merge in self._merges for entry in merge.replaces}
        for stack, bottom in _merges(self._manifest.segments):
            if not any(entry.file in busy for entry in stack):
                self._merges.append(_Merge(stack, self._background.submit(self._merge, stack, bottom)))

    def _merge(self, stack: list[Entry], bottom: bool) -> Entry | None:
        opened = [Postings(**map_arrays(self._folder / entry.file, entry.bytes)) for entry in stack]
        merged = postings.merge(opened, keep_gone=not bottom)
        return self._write(stack[0].field, stack[0].block, merged) if merged is not None else None

    def _commit(self) -> None:
        """Commit the manifest, with the merges that are done."""
        segments = self._manifest.segments
        for merge in [merge for merge in self._merges if merge.result.done()]:
            self._merges.remove(merge)
            result = merge.result.result()
            gone = {entry.file for entry in merge.replaces}
            place = next(at for at, entry in enumerate(segments) if entry.file in gone)
            segments[place:place] = [result] if result is not None else []
            segments[:] = [entry for entry in segments if entry.file not in gone]
            for entry in merge.replaces:
                self._retired.append(entry.file)
        self._manifest = Manifest(generation=self._manifest.generation + 1, segments=segments)
        manifests.commit(self._library, self._manifest)
        for file in self._retired:
            (self._folder / file).unlink(missing_ok=True)
        self._retired.clear()


def _merges(segments: Sequence[Entry]) -> Iterator[tuple[list[Entry], bool]]:
    """The stacks whose newer part should become one segment, and whether that part reaches the bottom.

    A segment joins the newer ones above it unless it is twice as large as all of them together, so a paper is copied a number
    of times that grows with the logarithm of its block.
    """
    stacks: dict[tuple[str, int], list[Entry]] = {}
    for entry in segments:
        stacks.setdefault((entry.field, entry.block), []).append(entry)
    for stack in stacks.values():
        above = 0
        lowest = len(stack) - 1
        for level in range(len(stack) - 1, -1, -1):
            if stack[level].papers < 2 * above:
                lowest = level
            above += stack[level].papers
        if lowest < len(stack) - 1:
            yield stack[lowest:], lowest == 0
