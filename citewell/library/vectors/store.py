"""Vectors: what an encoder computes from the papers' texts, as int8 in immutable segments next to the postings.

A *vector store* contains the vectors of one encoder and one text: a folder of segments under one manifest, committed by rename.
Its name contains the fingerprint of the encoder's weights, so vectors of other weights are never mixed with them. A paper has
one vector, or one for each sentence, in order. The newest segment that lists a paper has its current vectors. Each vector
carries the hash of its text, so a text that has not changed is never encoded again; and the manifest names the index segments
whose papers have all been encoded, so only papers in newer ones are checked.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout

from citewell.arrays import DamagedFileError, map_arrays, write_arrays
from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.models import weights
from citewell.types import Float32Array, IntArray

FOLDER = "vectors"
_FILE = "manifest.json"
_FORMAT = 1
_VERSION = "@"
"""Stands in the name of a store's folder between the encoder's name and the fingerprint of its weights."""
_TRIES = 3
_HEIGHT = 8
"""More segments than this are merged."""


class Vectors(NamedTuple):
    """One segment's arrays."""

    papers: npt.NDArray[np.int32]
    """Paper numbers, ascending; a paper with several vectors is listed as often."""
    hashes: npt.NDArray[np.int64]
    """The hash of the text of each vector."""
    codes: npt.NDArray[np.int8]
    """The vectors, each divided by its scale."""
    scales: npt.NDArray[np.float32]


class _Entry(msgspec.Struct, frozen=True):
    file: str
    papers: int
    bytes: int
    crc32: int


class NeighbourFiles(msgspec.Struct, frozen=True):
    """The neighbour index of a store, as its manifest names it (see `citewell.library.vectors.neighbours`)."""

    name: str
    bytes: int
    crc32: int
    written: int
    """The modification time in nanoseconds; a file with the same time is trusted without computing its checksum."""
    covered_bytes: int


class _Manifest(msgspec.Struct, rename={"encoded_segments": "gone_through"}):
    encoder: str
    text: str
    format: int = _FORMAT
    encoded_segments: list[str] = []
    """The segments of the index whose papers have all been encoded."""
    segments: list[_Entry] = []
    """Oldest first."""
    neighbours: NeighbourFiles | None = None


def quantised(vectors: Float32Array) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Vectors as int8, the largest component of each 127, and the scale that brings each nearest to what it was.

    That scale (of least squares) leaves an error at right angles to the int8 vector: it makes no paper seem nearer or farther
    to all that is near to it.
    """
    largest = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(127)
    rounded = np.rint(vectors / np.where(largest > 0, largest, 1).astype(np.float32)[:, None])
    squares = np.einsum("ij,ij->i", rounded, rounded)
    scales = np.einsum("ij,ij->i", rounded, vectors) / np.where(squares > 0, squares, 1)
    return rounded.astype(np.int8), scales.astype(np.float32)


def vectors_path(library: Path, encoder: str, text: str) -> Path:
    """The folder of the vectors of an encoder and text; other weights of the same name have another folder."""
    version = weights.fingerprint(encoder)
    return library / FOLDER / f"{encoder}{_VERSION}{version}-{text}" if version else library / FOLDER / f"{encoder}-{text}"


def vector_stores(library: Path) -> list[tuple[str, str]]:
    """The encoder and text of every vector store whose weights are the current ones."""
    stores = []
    for folder in sorted((library / FOLDER).glob("*-*/")):
        name, _, text = folder.name.rpartition("-")
        encoder = name.partition(_VERSION)[0]
        if folder == vectors_path(library, encoder, text):
            stores.append((encoder, text))
    return stores


def remove_outdated(library: Path, encoder: str, text: str) -> None:
    """Delete the vectors of other weights of the same name, unless a process is computing them now."""
    current = vectors_path(library, encoder, text)
    for folder in (library / FOLDER).glob(f"*-{text}/"):
        if folder.name.startswith(f"{encoder}{_VERSION}") and folder != current:
            with suppress(Timeout), FileLock(folder.with_name(f"{folder.name}.lock"), timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
                folder.with_name(f"{folder.name}.json").unlink(missing_ok=True)


class VectorStore:
    """The vectors of one encoder and text in one library."""

    def __init__(self, library: Path, encoder: str, text: str) -> None:
        self.folder = vectors_path(library, encoder, text)
        self._encoder, self._text = encoder, text
        self._manifest, self._segments = self._opened()

    @property
    def exists(self) -> bool:
        return bool(self._segments)

    @property
    def encoded_segments(self) -> list[str]:
        """The index segments whose papers have all been encoded."""
        return self._manifest.encoded_segments

    @property
    def dimension(self) -> int:
        return int(self._segments[0].codes.shape[1])

    @property
    def neighbours(self) -> NeighbourFiles | None:
        return self._manifest.neighbours

    def segments(self) -> list[tuple[Vectors, npt.NDArray[np.bool_]]]:
        """The segments, newest first, and which rows of each are current."""
        segments: list[tuple[Vectors, npt.NDArray[np.bool_]]] = []
        newer = np.zeros(0, np.int32)
        for segment in reversed(self._segments):
            segments.append((segment, ~np.isin(segment.papers, newer)))
            newer = np.union1d(newer, segment.papers)
        return segments

    def known(self, papers: IntArray) -> IntArray:
        """The hash of the text of each paper's first vector; 0 where it has none."""
        hashes = np.zeros(len(papers), np.int64)
        for segment in self._segments:
            at = np.minimum(np.searchsorted(segment.papers, papers), len(segment.papers) - 1)
            here = segment.papers[at] == papers
            hashes[here] = segment.hashes[at[here]]
        return hashes

    def count(self) -> int:
        """How many papers have a vector."""
        return sum(len(np.unique(segment.papers[live])) for segment, live in self.segments())

    # -- writing, by one process at a time --------------------------------------------------------------------------

    def add(self, papers: IntArray, hashes: IntArray, codes: npt.NDArray[np.int8], scales: npt.NDArray[np.float32]) -> None:
        """Commit vectors."""
        order = np.argsort(papers, kind="stable")
        segment = Vectors(papers[order].astype(np.int32), hashes[order], codes[order], scales[order])
        self._commit([*self._manifest.segments, self._write(segment)], [*self._segments, segment])
        if len(self._segments) > _HEIGHT:
            self._merge()

    def finish(self, index_files: Sequence[str]) -> None:
        """Record that every paper in these index segments has its vector."""
        self._manifest.encoded_segments = list(index_files)
        self._commit(self._manifest.segments, self._segments)

    def keep_neighbours(self, files: NeighbourFiles) -> None:
        """Record these files as the neighbour index."""
        self._manifest.neighbours = files
        self._commit(self._manifest.segments, self._segments)

    def _merge(self) -> None:
        """Merge the newest segments: all that are less than twice as large as those above them together."""
        above, lowest = 0, len(self._segments) - 2
        for level in range(len(self._segments) - 1, -1, -1):
            if len(self._segments[level].papers) < 2 * above:
                lowest = min(lowest, level)
            above += len(self._segments[level].papers)
        stack = self._segments[lowest:]
        papers = np.concatenate([segment.papers for segment in stack])
        level_of = np.repeat(np.arange(len(stack)), [len(segment.papers) for segment in stack])
        order = np.lexsort((level_of, papers))
        last = np.searchsorted(papers[order], papers[order], "right") - 1
        newest = order[level_of[order] == level_of[order][last]]
        columns = (np.concatenate([column[at] for column in stack])[newest] for at in range(1, 4))
        merged = Vectors(papers[newest], *columns)
        old = self._manifest.segments[lowest:]
        self._commit([*self._manifest.segments[:lowest], self._write(merged)], [*self._segments[:lowest], merged])
        for entry in old:
            (self.folder / entry.file).unlink(missing_ok=True)

    def _write(self, segment: Vectors) -> _Entry:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = f"{uuid4().hex[:12]}.vec"
        size, crc = write_arrays(self.folder / file, segment._asdict())
        return _Entry(file, len(segment.papers), size, crc)

    def _commit(self, entries: list[_Entry], segments: list[Vectors]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._manifest.segments = entries
        self._segments = segments
        write_atomically(self.folder / _FILE, msgspec.json.format(msgspec.json.encode(self._manifest)))

    def _opened(self) -> tuple[_Manifest, list[Vectors]]:
        """The manifest and its segments, read again if a merge deleted one in between."""
        for _ in range(_TRIES):
            manifest = self._load()
            with suppress(DamagedFileError):
                return manifest, [self._map(entry) for entry in manifest.segments]
        manifest = self._load()
        return manifest, [self._map(entry) for entry in manifest.segments]

    def _load(self) -> _Manifest:
        try:
            manifest = msgspec.json.decode((self.folder / _FILE).read_bytes(), type=_Manifest)
        except FileNotFoundError:
            return _Manifest(self._encoder, self._text)
        except (msgspec.DecodeError, OSError) as error:
            raise CitewellError(f"the vectors in {self.folder} cannot be read ({error}); delete that folder") from None
        if manifest.format != _FORMAT:
            raise CitewellError(f"the vectors in {self.folder} were made by another version of citewell; delete that folder")
        return manifest

    def _map(self, entry: _Entry) -> Vectors:
        arrays: dict[str, Any] = map_arrays(self.folder / entry.file, entry.bytes)
        try:
            return Vectors(**arrays)
        except TypeError:
            raise DamagedFileError(f"{entry.file} is not a segment of vectors") from None
