"""Bringing the index up to the store: new segments for papers that changed, old segments merged in the background.

The store lists the papers whose entries are out of date. The indexer has segments built for them, commits a manifest, and only
then removes them from the list: killed at any moment, it resumes from the last manifest. The newest segment that lists a
paper has its current entry, so an entry that is written twice does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from citewell.arrays import DamagedFileError, checksum, map_arrays
from citewell.library.index import links, postings
from citewell.library.index import manifest as manifests
from citewell.library.index.builder import Builder, Dirty, write_links, write_segment
from citewell.library.index.links import DIRECTIONS, Links
from citewell.library.index.manifest import Entry, Manifest
from citewell.library.index.postings import BLOCK, BLOCK_BITS, INDEXED, Postings
from citewell.library.index.worker import Worker
from citewell.library.store.store import Store
from citewell.progress import SILENT, Progress

_WORTH_A_WORKER = 1 << 16
_STACK_HEIGHT = 4


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
        self._manifest = manifests.load(library)
        manifests.sweep(library, self._manifest)
        store.db.execute("UPDATE dirty SET taken = 0 WHERE taken")
        self._builder = Builder(self._folder, store)
        self._threads = ThreadPoolExecutor(2, "citewell-index")
        self._worker: Worker | None = None
        self._building: Future[list[Entry]] | None = None
        self._merges: list[_Merge] = []
        self._retired: list[str] = []

    def advance(self) -> None:
        """Start indexing in a second process where much is out of date; returns at once."""
        if self._building is not None:
            if self._building.done():
                self._collect()
            return
        if self._store.db.execute("SELECT count(*) FROM dirty").fetchone()[0] >= _WORTH_A_WORKER:
            self._worker = self._worker or Worker(self._library)
            here = self._take()
            self._building = self._threads.submit(self._worker.build, here, self._stacked(here))

    def refresh(self, progress: Progress = SILENT) -> None:
        """Index everything that is out of date, block by block."""
        if self._building is not None:
            progress.advance(self._collect())
        while here := self._take():
            self._install(self._builder.build(here, self._stacked(here)))
            progress.advance(len(here))

    def close(self) -> None:
        """Wait for the merges under way and commit them."""
        while self._merges:
            self._merges[0].result.result()
            self._commit()
            self._start_merges()
        self.abandon()

    def abandon(self) -> None:
        """Stop, waiting only for the merge that is being written."""
        if self._worker is not None:
            self._worker.close()
        self._threads.shutdown(cancel_futures=True)

    def _take(self) -> Dirty:
        """The first papers on the list that are of one block, marked as taken."""
        dirty = self._store.dirty(BLOCK)
        here = [(num, fields) for num, fields in dirty if num >> BLOCK_BITS == dirty[0][0] >> BLOCK_BITS]
        if here:
            self._store.db.execute("UPDATE dirty SET taken = 1 WHERE paper BETWEEN ? AND ?", (here[0][0], here[-1][0]))
        return here

    def _stacked(self, dirty: Dirty) -> list[str]:
        """The fields in which the block of these papers has segments already."""
        block = dirty[0][0] >> BLOCK_BITS
        present = {entry.field for entry in self._manifest.segments if entry.block == block}
        return [name for name in (*INDEXED, *DIRECTIONS) if name in present]

    def _collect(self) -> int:
        """Wait for the second process and install its segments; returns how many papers they cover."""
        assert self._building is not None
        entries = self._building.result()
        self._building = None
        self._install(entries)
        return max((entry.papers for entry in entries), default=0)

    def _install(self, entries: list[Entry]) -> None:
        self._manifest.segments += entries
        self._commit()
        # What has changed since its text was read is no longer marked as taken, and stays on the list.
        self._store.db.execute("DELETE FROM dirty WHERE taken")
        self._start_merges()

    # -- merging ----------------------------------------------------------------------------------------------------

    def _start_merges(self) -> None:
        busy = {entry.file for merge in self._merges for entry in merge.replaces}
        for stack, bottom in _merges(self._manifest.segments):
            if not any(entry.file in busy for entry in stack):
                self._merges.append(_Merge(stack, self._threads.submit(self._merge, stack, bottom)))

    def _merge(self, stack: list[Entry], bottom: bool) -> Entry | None:
        for entry in stack:
            if checksum(self._folder / entry.file) != entry.crc32:
                raise DamagedFileError(f"{entry.file} does not match its checksum")
        name, block = stack[0].field, stack[0].block
        arrays = [map_arrays(self._folder / entry.file, entry.bytes) for entry in stack]
        if name in DIRECTIONS:
            joined = links.merge([Links(**each) for each in arrays], keep_empty=not bottom)
            return write_links(self._folder, name, block, joined) if joined is not None else None
        merged = postings.merge([Postings(**each) for each in arrays], keep_gone=not bottom)
        languages = {language for entry in stack for language in entry.languages}
        return write_segment(self._folder, name, block, merged, languages) if merged is not None else None

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

    A stack of a few segments is left alone. In a higher one a segment joins those above it unless it is twice as large as all
    of them together, so that a paper is copied a number of times that grows with the logarithm of its block.
    """
    stacks: dict[tuple[str, int], list[Entry]] = {}
    for entry in segments:
        stacks.setdefault((entry.field, entry.block), []).append(entry)
    for stack in stacks.values():
        if len(stack) > _STACK_HEIGHT:
            above = 0
            lowest = len(stack) - 2
            for level in range(len(stack) - 1, -1, -1):
                if stack[level].papers < 2 * above:
                    lowest = min(lowest, level)
                above += stack[level].papers
            yield stack[lowest:], lowest == 0
