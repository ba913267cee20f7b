"""A static encoder: one vector a token, a text being the mean of its tokens' vectors. It needs a tokeniser and numpy alone.

In a query each token has a further weight, and where there is a gap it counts the more the nearer to it it stands. The table
is kept as int8 with a scale for each token; behind the tokens come the rows that words of several tokens share. Texts are laid
out as the transformer's are (`inputs`), so that both read the same of a query, and of a paper more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.models.inputs import Inputs, PaperText, Reader
from citewell.models.served import TOKENIZER, tokenizer
from citewell.papers import Query

FILE = "table.npz"
FACTOR, HASHED, LONGEST = 1_000_003, (1 << 32) - 1, 7
"""The hash of a word: that of the tokens before, times the factor, plus the last, in 32 bits; for so many tokens."""

Tokens = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]


class StaticEncoder:
    """One model, loaded when it is first used."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        self.name = name
        self._folder = folder
        self._inputs = inputs

    @cached_property
    def _table(self) -> Vectors:
        with np.load(self._folder / FILE) as found:
            table: Vectors = found["codes"].astype(np.float32) * found["scales"][:, None]
        # Tokens that part the parts say nothing.
        table[[self._reader.cls, self._reader.sep]] = 0
        return table

    @cached_property
    def _asked(self) -> Vectors:
        """What each token counts in a query."""
        with np.load(self._folder / FILE) as found:
            weights: Vectors = found["asked"]
        return weights

    @cached_property
    def _near(self) -> tuple[float, float]:
        """How fast tokens lose weight with their distance from the gap, and what the furthest count."""
        with np.load(self._folder / FILE) as found:
            reach, far = found["near"].tolist()
        return reach, far

    @cached_property
    def _words(self) -> int:
        """How many rows the words of several tokens share."""
        with np.load(self._folder / FILE) as found:
            return int(found["words"])

    @cached_property
    def _continues(self) -> npt.NDArray[np.bool_]:
        return continuing(self._folder / TOKENIZER, len(self._table) - self._words)

    @cached_property
    def _reader(self) -> Reader:
        return Reader(tokenizer(self._folder), self._inputs)

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""
        return self._inputs.contexts

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A vector for each text."""
        return self._vectors(self._reader.tokens(texts))

    def query(self, query: Query) -> Vectors:
        """The vector of a query; its tokens count by their distance from its gap, where it has one."""
        tokens = np.array(self._reader.query(query))
        places = np.arange(len(tokens))
        if self._words:
            words, ends = whole_words(tokens, self._continues, self._words)
            tokens, places = np.concatenate([tokens, words[ends]]), np.concatenate([places, places[ends]])
        weights = self._asked[tokens]
        gaps = np.flatnonzero(tokens == self._reader.mask)
        if len(gaps):
            reach, far = self._near
            weights = weights * (far + (1 - far) * np.exp(-np.abs(places - gaps[0]) / reach))
        total = weights.astype(np.float32) @ self._table[tokens]
        length = np.linalg.norm(total)
        return np.asarray(total / length if length > 0 else total, np.float32)

    def papers(self, papers: Sequence[PaperText]) -> Vectors:
        """A vector for each paper."""
        return self._vectors(self._reader.papers(papers))

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        counts = np.array([len(each) for each in tokens])
        sums = np.zeros((len(tokens), self._table.shape[1]), np.float32)
        flat = np.fromiter(chain.from_iterable(tokens), np.int64, int(counts.sum()))
        some = np.flatnonzero(counts)
        if len(some):
            sums[some] = np.add.reduceat(self._table[flat], (np.cumsum(counts) - counts)[some], axis=0)
        if self._words:
            words, ends = whole_words(flat, self._continues, self._words)
            owners = np.repeat(np.arange(len(counts)), counts)[ends]
            some, first = np.unique(owners, return_index=True)
            if len(some):
                sums[some] += np.add.reduceat(self._table[words[ends]], first, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


def continuing(path: Path, tokens: int) -> npt.NDArray[np.bool_]:
    """Which tokens of a tokeniser's file continue a word, as WordPiece marks them."""
    vocabulary: dict[str, int] = json.loads(path.read_text("utf-8"))["model"]["vocab"]
    found = np.zeros(tokens, bool)
    found[[number for token, number in vocabulary.items() if token.startswith("##")]] = True
    return found


def whole_words(tokens: Tokens, continues: npt.NDArray[np.bool_], words: int) -> tuple[Tokens, npt.NDArray[np.bool_]]:
    """The row of the word that each token ends, and whether it ends one of several tokens."""
    continued = continues[tokens]
    hashes = tokens
    for _ in range(LONGEST):
        before = np.concatenate([[0], hashes[:-1]])
        hashes = np.where(continued, (before * FACTOR + tokens) & HASHED, tokens)
    ends = continued & ~np.concatenate([continued[1:], [False]])
    return len(continues) + hashes % words, ends
