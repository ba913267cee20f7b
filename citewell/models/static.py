"""A static encoder: one vector a token, a text being their weighted sum. It needs a tokeniser and numpy alone.

Texts are laid out as the transformer's are (`inputs`), so that both read the same of a query, and of a paper more. A text has
parts of three kinds: of a paper its title, what others say of it, and its abstract; of a query what is asked, the citing title
and the citing abstract. Each kind is summed by itself, divided by the root of how much it holds, and has a weight of its own:
a short title counts beside a long abstract, and many contexts do not drown either. Where a part has a gap its tokens count the
more the nearer to it they stand. In a query each token has a further weight. The table is kept as int8 with a scale for each
token; behind the tokens come the rows that words of several tokens share.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.models.inputs import Inputs, PaperText, Reader
from citewell.models.onnx import TOKENIZER, tokenizer
from citewell.papers import Query

FILE = "table.npz"
KINDS = 3
"""Kinds of parts, of queries and of papers."""
FACTOR, HASHED, LONGEST = 1_000_003, np.int64((1 << 32) - 1), 7
"""The hash of a word: that of the tokens before, times the factor, plus the last, in 32 bits; for so many tokens."""

Tokens = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]


class Reading(NamedTuple):
    """How much what counts, in queries or in papers."""

    reach: float
    """How fast tokens lose weight with their distance from the gap."""
    far: float
    """What the furthest count."""
    kinds: Vectors
    """What each kind of part counts."""


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
    def _readings(self) -> tuple[Reading, Reading]:
        """Of queries, and of papers."""
        with np.load(self._folder / FILE) as found:
            near, kinds = found["near"], found["kinds"]
        queries, papers = (Reading(float(reach), float(far), counts) for (reach, far), counts in zip(near, kinds, strict=True))
        return queries, papers

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
        """A vector for each text, which is of no kind: its tokens all count the same."""
        found = _Laid(self._reader.tokens(texts))
        return self._summed(found, np.ones(len(found.tokens), np.float32))

    def query(self, query: Query) -> Vectors:
        """The vector of a query."""
        found = _Laid([self._reader.query(query)])
        kinds = np.minimum(found.places(self._reader.sep), KINDS - 1)
        weights = self._weights(found, found.distances(self._reader.sep, self._reader.mask), kinds, self._readings[0])
        vector: Vectors = self._summed(found, weights, asked=True)[0]
        return vector

    def papers(self, papers: Sequence[PaperText]) -> Vectors:
        """A vector for each paper."""
        found = _Laid(self._reader.papers(papers))
        distances = found.distances(self._reader.sep, self._reader.mask)
        kinds = np.where(distances >= 0, 1, np.where(found.places(self._reader.sep) == 0, 0, 2))
        return self._summed(found, self._weights(found, distances, kinds, self._readings[1]))

    def _weights(self, laid: _Laid, distances: Tokens, kinds: Tokens, reading: Reading) -> Vectors:
        near = np.where(distances >= 0, reading.far + (1 - reading.far) * np.exp(-distances / reading.reach), 1.0)
        near[(laid.tokens == self._reader.cls) | (laid.tokens == self._reader.sep)] = 0
        parts = laid.owners * KINDS + kinds
        held = np.bincount(parts, weights=near, minlength=len(laid.counts) * KINDS)
        shares = np.tile(reading.kinds, len(laid.counts)) / np.sqrt(np.maximum(held, 1e-9))
        return np.asarray(near * shares[parts], np.float32)

    def _summed(self, laid: _Laid, weights: Vectors, asked: bool = False) -> Vectors:
        rows, owners = laid.tokens, laid.owners
        if self._words:
            words, ends = whole_words(laid.tokens, self._continues, self._words)
            order = np.argsort(np.concatenate([owners, owners[ends]]), kind="stable")
            rows = np.concatenate([rows, words[ends]])[order]
            weights = np.concatenate([weights, weights[ends]])[order]
            owners = np.concatenate([owners, owners[ends]])[order]
        if asked:
            weights = weights * self._asked[rows]
        weights = weights.astype(np.float32)
        bounds = np.searchsorted(owners, np.arange(len(laid.counts) + 1)).tolist()
        # One text after the other: its rows fit the processor's cache, those of all texts do not.
        sums = np.zeros((len(laid.counts), self._table.shape[1]), np.float32)
        for text, (start, end) in enumerate(pairwise(bounds)):
            sums[text] = weights[start:end] @ self._table.take(rows[start:end], axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


class _Laid:
    """Texts as tokens, one behind the other."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        self.counts = np.array([len(each) for each in texts], np.int64)
        self.tokens = np.fromiter(chain.from_iterable(texts), np.int64, int(self.counts.sum()))
        self.owners = np.repeat(np.arange(len(self.counts)), self.counts)

    def places(self, sep: int) -> Tokens:
        """The how-manieth part of its text each token stands in."""
        parts = self._parts(sep)
        starts = (np.cumsum(self.counts) - self.counts)[self.counts > 0]
        return np.asarray(parts - np.repeat(parts[starts], self.counts[self.counts > 0]), np.int64)

    def distances(self, sep: int, mask: int) -> Tokens:
        """How far each token is from the first gap of its part; -1 where it has none."""
        parts = self._parts(sep)
        gaps = np.flatnonzero(self.tokens == mask)[::-1]
        place = np.full(int(parts.max(initial=-1)) + 1, -1)
        place[parts[gaps]] = gaps
        gap = place[parts]
        return np.where(gap >= 0, np.abs(np.arange(len(parts)) - gap), -1)

    def _parts(self, sep: int) -> Tokens:
        ends = self.tokens == sep
        return np.asarray(np.cumsum(ends) - ends, np.int64)


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
