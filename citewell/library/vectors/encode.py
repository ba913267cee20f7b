"""Computes the vectors of papers whose text is new or has changed, and commits them chunk by chunk.

If a run is killed, the next one compares hashes of the texts and resumes. Vectors that another library of the same papers (a
donor) already has are copied from there. At the end, the vectors of a large library get a neighbour index.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from citewell.errors import CitewellError
from citewell.library.index.index import Index
from citewell.library.library import Library
from citewell.library.vectors import neighbours
from citewell.library.vectors.store import VectorStore, quantised, remove_outdated, vectors_path
from citewell.library.vectors.texts import CONTEXTS, SENTENCES, TEXTS, paper_texts, sentence_texts
from citewell.models.encoder import PaperEncoder
from citewell.models.inputs import PaperText
from citewell.progress import SILENT, Progress
from citewell.text.citation_contexts import near_mark
from citewell.types import Float32Array, IntArray

CHUNK = 2048
"""Papers encoded between two commits: enough to batch texts of similar length, few enough to lose little when killed."""


class Encodes(Protocol):
    """Turns texts into vectors."""

    name: str

    def encode(self, texts: Sequence[str]) -> Float32Array: ...


def encode(
    library: Library,
    encoder: Encodes,
    text: str = "own",
    donors: Sequence[Path] = (),
    progress: Progress = SILENT,
    limit: int = neighbours.LIMIT,
) -> int:
    """Compute the vectors of one encoder and text that are missing or out of date; returns how many papers were encoded.

    `donors` are libraries that may have some of these vectors already. More than `limit` vectors get a neighbour index.
    """
    if text not in TEXTS:
        raise CitewellError(f"papers have no text {text!r} to encode; there are {', '.join(TEXTS)}")
    lock = lock_path(library.folder, encoder.name, text)
    lock.parent.mkdir(exist_ok=True)
    with FileLock(lock):
        store = VectorStore(library.folder, encoder.name, text)
        library.reload()
        files, papers = to_look_at(library.index, text, store.encoded_segments)
        progress.start(f"encoding with {encoder.name}", len(papers), "papers")
        donor_stores = [VectorStore(donor, encoder.name, text) for donor in donors]
        made = 0
        for at in range(0, len(papers), CHUNK):
            chunk = papers[at : at + CHUNK]
            made += _encode_chunk(library, encoder, text, store, donor_stores, chunk)
            progress.advance(len(chunk))
        if files != store.encoded_segments:
            store.finish(files)
        if text != SENTENCES:  # sentence vectors are looked up by paper
            neighbours.refresh(store, library.index.listed("own"), limit, progress)
        remove_outdated(library.folder, encoder.name, text)
    return made


def lock_path(library: Path, encoder: str, text: str) -> Path:
    """The lock of the process that encodes."""
    store = vectors_path(library, encoder, text)
    return store.with_name(f"{store.name}.lock")


def missing(library: Library, encoder: str, text: str = "own") -> int:
    """How many papers may still lack their vector; 0 if none does."""
    store = VectorStore(library.folder, encoder, text)
    files, papers = to_look_at(library.index, text, store.encoded_segments)
    return 0 if files == store.encoded_segments else int(np.count_nonzero(store.known(papers) == 0))


def to_look_at(index: Index, text: str, encoded_segments: Sequence[str]) -> tuple[list[str], IntArray]:
    """All segments of the text in the index, and the live papers of the segments that are not encoded yet."""
    segments = list(index.segments("own" if text == SENTENCES else text))
    papers = [np.zeros(0, np.int64), *(each.numbers() for each in segments if each.entry.file not in encoded_segments)]
    return sorted(segment.entry.file for segment in segments), np.unique(np.concatenate(papers))


def _encode_chunk(
    library: Library, encoder: Encodes, text: str, store: VectorStore, donor_stores: Sequence[VectorStore], papers: IntArray
) -> int:
    contexts = encoder.contexts if isinstance(encoder, PaperEncoder) else CONTEXTS
    if text == SENTENCES:
        texts = sentence_texts(library, papers)
    else:
        texts = {num: [one] for num, one in paper_texts(library, text, papers.tolist(), contexts)}
    nums = np.array(sorted(texts), np.int64)
    hashes = np.array([_hash(texts[num]) for num in nums.tolist()], np.int64)
    changed = store.known(nums) != hashes
    nums, hashes = nums[changed], hashes[changed]
    if not len(nums):
        return 0
    # A paper's vectors have different hashes: that of the paper plus the position.
    counts = [len(texts[num]) for num in nums.tolist()]
    flat = [part for num in nums.tolist() for part in texts[num]]
    places = np.arange(len(flat)) - np.repeat(np.cumsum([0, *counts[:-1]]), counts)
    nums, hashes = np.repeat(nums, counts), np.repeat(hashes, counts) + places
    codes, scales, copied = _copy_from(donor_stores, hashes)
    rest = np.flatnonzero(~copied)
    if len(rest):
        chosen = [flat[at] for at in rest.tolist()]
        vectors = encoder.papers(chosen) if isinstance(encoder, PaperEncoder) else _mean_vectors(encoder, chosen)
        if codes is None:
            codes, scales = np.zeros((len(nums), vectors.shape[1]), np.int8), np.zeros(len(nums), np.float32)
        codes[rest], scales[rest] = quantised(vectors)
    assert codes is not None
    store.add(nums, hashes, codes, scales)
    return len(np.unique(nums[rest]))


def _copy_from(
    donor_stores: Sequence[VectorStore], hashes: IntArray
) -> tuple[npt.NDArray[np.int8] | None, npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Vectors of the same texts from other libraries, and which texts have one."""
    codes: npt.NDArray[np.int8] | None = None
    scales = np.zeros(len(hashes), np.float32)
    copied = np.zeros(len(hashes), bool)
    for store in donor_stores:
        for segment, _ in store.segments():
            order = np.argsort(segment.hashes)
            at = order[np.minimum(np.searchsorted(segment.hashes[order], hashes), len(order) - 1)]
            here = (segment.hashes[at] == hashes) & ~copied
            if here.any():
                if codes is None:
                    codes = np.zeros((len(hashes), segment.codes.shape[1]), np.int8)
                codes[here], scales[here] = segment.codes[at[here]], segment.scales[at[here]]
                copied |= here
    return codes, scales, copied


def _mean_vectors(encoder: Encodes, texts: Sequence[PaperText]) -> Float32Array:
    """For each paper the mean of the vectors of its texts, at length 1."""
    counts = [len(text.parts()) for text in texts]
    vectors = encoder.encode([part if part == text.own() else near_mark(part) for text in texts for part in text.parts()])
    if all(count == 1 for count in counts):
        return vectors
    sums = np.add.reduceat(vectors, np.cumsum([0, *counts[:-1]]), axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


def _hash(texts: Sequence[PaperText]) -> int:
    parts = "\x1e".join(part for text in texts for part in text.parts())
    return int.from_bytes(blake2b(parts.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True) or 1
