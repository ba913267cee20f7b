"""Words as ids and as vectors, for the networks that read whole words rather than word pieces.

A word is a term of `citewell.text.analysis`, identified by its hash. ``words.npz`` has the sorted hashes, the idf of each word
(divided by the largest idf), and its vector. An unknown word has the largest idf and a zero vector, but keeps an id of its own,
so that two occurrences of it still match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np

from citewell.text.analysis import Vocabulary
from citewell.types import Float32Array, IntArray

FILE = "words.npz"
MAX_WORDS = 64
"""Words of a sentence that are read."""
_MAX_VOCABULARY = 1_000_000
_UNKNOWN = np.int64(1 << 40)


class _HashCache:
    """Hashes of the words of recent texts."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._lock = Lock()

    def hashes(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """The hashes of the words of all texts, concatenated, and the number of words of each text."""
        with self._lock:
            if len(self._vocabulary) > _MAX_VOCABULARY:
                self._vocabulary = Vocabulary()
            words, lengths = self._vocabulary.numbers(texts)
            return np.array(self._vocabulary.hashes, np.int64)[words], lengths.astype(np.int64)


@dataclass(frozen=True)
class WordVectors:
    """The known words, with ids from 1; row 0 stands for unknown words."""

    hashes: IntArray
    """Ascending."""
    idf: Float32Array
    vectors: Float32Array
    _cache: _HashCache = field(default_factory=_HashCache, repr=False, compare=False)

    @classmethod
    def of(cls, hashes: IntArray, papers_with: IntArray, papers: int, vectors: Float32Array) -> WordVectors:
        """Words with the number of papers that contain them, and their vectors."""
        order = np.argsort(hashes)
        largest = np.log(papers + 1)
        idf = np.append(1.0, np.log((papers + 1) / (papers_with[order] + 1)) / largest)
        nothing = np.zeros((1, vectors.shape[1]))
        return cls(hashes[order], idf.astype(np.float32), np.concatenate([nothing, vectors[order]]).astype(np.float32))

    @classmethod
    def load(cls, folder: Path) -> WordVectors:
        with np.load(folder / FILE, allow_pickle=False) as arrays:
            return cls(arrays["hashes"], arrays["rarity"], arrays["vectors"].astype(np.float32))

    def save(self, folder: Path) -> None:
        np.savez(folder / FILE, hashes=self.hashes, rarity=self.idf, vectors=self.vectors.astype(np.float16))

    def read(self, texts: Sequence[str]) -> list[IntArray]:
        """The word ids of each text."""
        hashes, lengths = self._cache.hashes(texts)
        return np.split(self.numbers(hashes), np.cumsum(lengths)[:-1]) if len(lengths) else []

    def numbers(self, hashes: IntArray) -> IntArray:
        """The ids of words; an unknown word gets an id beyond the known ones."""
        if not len(self.hashes):
            return len(self.hashes) + 1 + hashes % _UNKNOWN
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, places + 1, len(self.hashes) + 1 + hashes % _UNKNOWN)

    def rows(self, numbers: IntArray) -> IntArray:
        """The rows of `idf` and `vectors` for word ids."""
        return np.where(numbers <= len(self.hashes), numbers, 0)


def pad_rows(texts: Sequence[IntArray], most: int = MAX_WORDS) -> IntArray:
    """Texts as rows of one array, cut at `most` words, and padded with 0."""
    width = min(most, max(1, max((len(text) for text in texts), default=1)))
    rows = np.zeros((len(texts), width), np.int64)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = text[:width]
    return rows
