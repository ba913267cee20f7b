"""The key terms of every sentence of the training data: SEMISER's labels, which cost nothing but time.

Sentences that occur twice count once, and those without key terms are left out. The work is saved in parts, so that an
interrupted training resumes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from citewell.progress import SILENT, Progress
from citewell.text.sgrank import key_terms
from citewell.train.save import EpochCheckpoints
from citewell.train.sentence_data import SentenceData
from citewell.types import IntArray

_PART = 50_000
"""Sentences between two checkpoints."""
_MAX_WORDS = 200
"""Words of a sentence in which key terms are searched."""


@dataclass(frozen=True)
class KeyTerms:
    """Sentences and their key terms, in arrays."""

    sentences: IntArray
    """The sentences that have key terms, by their number in the data."""
    first: IntArray
    """The first term of each sentence, and the number of all terms."""
    words: npt.NDArray[np.int32]
    """The words of all terms, concatenated."""
    starts: IntArray
    """The first word of each term, and the number of all words."""

    def __len__(self) -> int:
        return len(self.sentences)

    def terms_of(self, row: int) -> list[tuple[int, ...]]:
        """The key terms of one sentence, best first."""
        numbers = range(int(self.first[row]), int(self.first[row + 1]))
        return [tuple(self.words[self.starts[at] : self.starts[at + 1]].tolist()) for at in numbers]


def sentences_of(data: SentenceData, limit: int, seed: int) -> IntArray:
    """The sentences to learn from in random order, without repetitions; `limit` of them, or all if it is 0."""
    first: dict[bytes, int] = {}
    words, starts = data.words.astype(np.int32), data.sentence_at.tolist()
    for at in range(len(starts) - 1):
        if starts[at] < starts[at + 1]:
            first.setdefault(words[starts[at] : starts[at + 1]].tobytes(), at)
    order = np.random.default_rng(seed).permutation(np.fromiter(first.values(), np.int64, len(first)))
    return order[:limit] if limit else order


def extract(
    data: SentenceData,
    sentences: IntArray,
    size: int,
    longest: int,
    checkpoints: Callable[[str], EpochCheckpoints],
    progress: Progress = SILENT,
) -> KeyTerms:
    """The `size` best key terms of each sentence, of up to `longest` words; resumes from its checkpoints."""
    idf = data.idf().tolist()
    stored = checkpoints(_fingerprint(data, sentences, size, longest))
    progress.start("extracting key terms", len(sentences), "sentences")
    parts = []
    for start in range(0, len(sentences), _PART):
        chosen = sentences[start : start + _PART]
        done, arrays = stored.load(f"part-{start}")
        if not done:
            lists = [key_terms(data.runs([at], _MAX_WORDS), idf.__getitem__, size, longest) for at in chosen.tolist()]
            terms = [term for each in lists for term in each]
            arrays = {
                "counts": np.array([len(each) for each in lists], np.int64),
                "sizes": np.array([len(term) for term in terms], np.int64),
                "words": np.array([word for term in terms for word in term], np.int32),
            }
            stored.save(f"part-{start}", 1, arrays)
        parts.append(arrays)
        progress.advance(len(chosen))
    counts, sizes, words = (
        np.concatenate([np.zeros(0, np.int64), *(part[name] for part in parts)]) for name in ("counts", "sizes", "words")
    )
    usable = counts > 0
    return KeyTerms(
        sentences[usable],
        np.concatenate([[0], np.cumsum(counts[usable])]),
        words.astype(np.int32),
        np.concatenate([[0], np.cumsum(sizes)]),
    )


def _fingerprint(data: SentenceData, sentences: IntArray, size: int, longest: int) -> str:
    state = blake2b(f"{size} {longest} {_MAX_WORDS} {_PART}".encode(), digest_size=8)
    for part in (data.words, data.sentence_at, data.arrays["begins"], data.hashes, sentences):
        state.update(np.ascontiguousarray(part).data)
    return state.hexdigest()
