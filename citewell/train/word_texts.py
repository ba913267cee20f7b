"""Further texts for word vectors: the papers and citing contexts of sets that need have no evidence queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from citewell.papers import OTHER_MARK, TARGET_MARK
from citewell.progress import SILENT, Progress
from citewell.text.analysis import Vocabulary
from citewell.train.words import texts_of
from citewell.types import IntArray

_BATCH = 2000


class NumberedWords:
    """Words by number: those of some hashes keep their numbers, others are numbered behind them."""

    def __init__(self, hashes: IntArray) -> None:
        self._numbers = {number: at for at, number in enumerate(hashes.tolist())}

    def number(self, word: int) -> int:
        """The number of the word with this hash."""
        return self._numbers.setdefault(word, len(self._numbers))

    def hashes(self) -> IntArray:
        """The hash of each word, by its number."""
        return np.fromiter(self._numbers, np.int64, len(self._numbers))


def numbered_texts(folders: Sequence[Path], words: NumberedWords, progress: Progress = SILENT) -> list[IntArray]:
    """The texts of sets as numbers of words, without stop words; `words` learns new ones."""
    vocabulary, rows = Vocabulary(), []
    progress.start("reading texts for word vectors", unit="texts")
    for folder in folders:
        texts = (text.replace(TARGET_MARK, " ").replace(OTHER_MARK, " ") for text in texts_of(folder))
        while batch := list(islice(texts, _BATCH)):
            numbers, lengths = vocabulary.numbers(batch)
            rows += np.split(numbers, np.cumsum(lengths)[:-1])
            progress.advance(len(batch))
    number: IntArray = np.array([words.number(each) for each in vocabulary.hashes], np.int32)
    return [number[row] for row in rows if len(row)]
