"""Words as numbers and as vectors: what the small networks that read words, not pieces of words, begin with.

A word is a term of `citewell.text.analysis`, known by its hash. ``words.npz`` holds the hashes in order, how rare each word is
(its idf, as a share of the largest), and its vector. A word that it lacks is as rare as can be and has no direction, but is
still told from others, so that it can be met again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from citewell.text.analysis import Vocabulary

FILE = "words.npz"
LONGEST = 64
"""So many words of a sentence are read."""
_MOST_WORDS = 1_000_000
_UNKNOWN = np.int64(1 << 40)

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class _Memory:
    """What texts were cut into lately."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._lock = Lock()

    def hashes(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """The hashes of the words of all texts one after the other, and how many each text has."""
        with self._lock:
            if len(self._vocabulary) > _MOST_WORDS:
                self._vocabulary = Vocabulary()
            words, lengths = self._vocabulary.numbers(texts)
            return np.array(self._vocabulary.hashes, np.int64)[words], lengths.astype(np.int64)


@dataclass(frozen=True)
class WordVectors:
    """The words that are known, numbered from 1 on; row 0 stands for all others."""

    hashes: Numbers
    """Ascending."""
    rarity: Floats
    vectors: Floats
    _memory: _Memory = field(default_factory=_Memory, repr=False, compare=False)

    @classmethod
    def of(cls, hashes: Numbers, papers_with: Numbers, papers: int, vectors: Floats) -> WordVectors:
        """Words that occur in so many of some papers, with their vectors."""
        order = np.argsort(hashes)
        rarest = np.log(papers + 1)
        rarity = np.append(1.0, np.log((papers + 1) / (papers_with[order] + 1)) / rarest)
        nothing = np.zeros((1, vectors.shape[1]))
        return cls(hashes[order], rarity.astype(np.float32), np.concatenate([nothing, vectors[order]]).astype(np.float32))

    @classmethod
    def load(cls, folder: Path) -> WordVectors:
        with np.load(folder / FILE, allow_pickle=False) as found:
            return cls(found["hashes"], found["rarity"], found["vectors"].astype(np.float32))

    def save(self, folder: Path) -> None:
        np.savez(folder / FILE, hashes=self.hashes, rarity=self.rarity, vectors=self.vectors)

    def read(self, texts: Sequence[str]) -> list[Numbers]:
        """The words of each text, by number."""
        hashes, lengths = self._memory.hashes(texts)
        return np.split(self.numbers(hashes), np.cumsum(lengths)[:-1]) if len(lengths) else []

    def numbers(self, hashes: Numbers) -> Numbers:
        """The numbers of words; one that is not known gets one beyond the others."""
        if not len(self.hashes):
            return len(self.hashes) + 1 + hashes % _UNKNOWN
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[places] == hashes, places + 1, len(self.hashes) + 1 + hashes % _UNKNOWN)

    def rows(self, numbers: Numbers) -> Numbers:
        """Which rows of `rarity` and `vectors` are those of words."""
        return np.where(numbers <= len(self.hashes), numbers, 0)


def side_by_side(texts: Sequence[Numbers]) -> Numbers:
    """Texts as the rows of one array, cut, and filled up with 0, which is no word."""
    width = min(LONGEST, max(1, max((len(text) for text in texts), default=1)))
    found = np.zeros((len(texts), width), np.int64)
    for row, text in zip(found, texts, strict=True):
        row[: len(text)] = text[:width]
    return found
