"""Static encoder: one vector per token, and a text is their weighted sum. It needs only a tokeniser and numpy.

Texts are laid out as for the transformer (`inputs`), with larger budgets for papers. A text has three kinds of parts: a paper
its title, its cited contexts and its abstract; a query its context, the citing title and the citing abstract. Each kind is
summed separately, divided by the square root of its total weight, and multiplied by a weight of its own, so that a short title
counts next to a long abstract and many contexts do not drown either. In a part with a gap, tokens near the gap weigh more. In a
query, each token has an additional weight. The table is int8 with a scale per token; after the tokens come rows that words of
several tokens share by their hash.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from citewell.models.inputs import Inputs, PaperText, TokenReader
from citewell.models.onnx import TOKENIZER, tokenizer
from citewell.papers import Query
from citewell.types import Float32Array, IntArray, Mask

FILE = "table.npz"
KINDS = 3
"""Kinds of parts, in queries and in papers."""
FACTOR, HASH_MASK, MAX_WORD_TOKENS = 1_000_003, np.int64((1 << 32) - 1), 7
"""A word's hash is that of its previous tokens times the factor, plus the last token, in 32 bits, for at most 7 tokens."""

Tokens = IntArray


class WeightRule(NamedTuple):
    """The weights of tokens, in queries or in papers."""

    reach: float
    """How fast the weight of tokens falls with their distance from the gap."""
    far: float
    """The weight of the most distant tokens."""
    kinds: Float32Array
    """The weight of each kind of part."""


class StaticEncoder:
    """One model; loaded on first use."""

    def __init__(self, name: str, folder: Path, inputs: Inputs) -> None:
        self.name = name
        self._folder = folder
        self._inputs = inputs

    @cached_property
    def _table(self) -> Float32Array:
        with np.load(self._folder / FILE) as arrays:
            table: Float32Array = arrays["codes"].astype(np.float32) * arrays["scales"][:, None]
        # Separator tokens carry no meaning.
        table[[self._reader.cls, self._reader.sep]] = 0
        return table

    @cached_property
    def _query_weights(self) -> Float32Array:
        """The additional weight of each token in a query."""
        with np.load(self._folder / FILE) as arrays:
            weights: Float32Array = arrays["asked"]
        return weights

    @cached_property
    def _weight_rules(self) -> tuple[WeightRule, WeightRule]:
        """The rules for queries and for papers."""
        with np.load(self._folder / FILE) as arrays:
            near, kinds = arrays["near"], arrays["kinds"]
        queries, papers = (
            WeightRule(float(reach), float(far), counts) for (reach, far), counts in zip(near, kinds, strict=True)
        )
        return queries, papers

    @cached_property
    def _words(self) -> int:
        """The number of rows that words of several tokens share."""
        with np.load(self._folder / FILE) as arrays:
            return int(arrays["words"])

    @cached_property
    def _continues(self) -> Mask:
        return continuation_tokens(self._folder / TOKENIZER, len(self._table) - self._words)

    @cached_property
    def _reader(self) -> TokenReader:
        return TokenReader(tokenizer(self._folder), self._inputs)

    @property
    def contexts(self) -> int:
        """How many contexts of a paper it reads."""
        return self._inputs.contexts

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """One vector per text, with equal weights for all tokens."""
        laid = _TokenTexts(self._reader.tokens(texts))
        return self._sum_vectors(laid, np.ones(len(laid.tokens), np.float32))

    def query(self, query: Query) -> Float32Array:
        """The vector of a query."""
        laid = _TokenTexts([self._reader.query(query)])
        kinds = np.minimum(laid.part_numbers(self._reader.sep), KINDS - 1)
        weights = self._weights(laid, laid.distances(self._reader.sep, self._reader.mask), kinds, self._weight_rules[0])
        vector: Float32Array = self._sum_vectors(laid, weights, as_query=True)[0]
        return vector

    def papers(self, papers: Sequence[PaperText]) -> Float32Array:
        """One vector per paper."""
        laid = _TokenTexts(self._reader.papers(papers))
        distances = laid.distances(self._reader.sep, self._reader.mask)
        kinds = np.where(distances >= 0, 1, np.where(laid.part_numbers(self._reader.sep) == 0, 0, 2))
        return self._sum_vectors(laid, self._weights(laid, distances, kinds, self._weight_rules[1]))

    def _weights(self, texts: _TokenTexts, distances: Tokens, kinds: Tokens, rule: WeightRule) -> Float32Array:
        near = np.where(distances >= 0, rule.far + (1 - rule.far) * np.exp(-distances / rule.reach), 1.0)
        near[(texts.tokens == self._reader.cls) | (texts.tokens == self._reader.sep)] = 0
        parts = texts.owners * KINDS + kinds
        totals = np.bincount(parts, weights=near, minlength=len(texts.counts) * KINDS)
        shares = np.tile(rule.kinds, len(texts.counts)) / np.sqrt(np.maximum(totals, 1e-9))
        return np.asarray(near * shares[parts], np.float32)

    def _sum_vectors(self, texts: _TokenTexts, weights: Float32Array, as_query: bool = False) -> Float32Array:
        rows, owners = texts.tokens, texts.owners
        if self._words:
            words, ends = whole_words(texts.tokens, self._continues, self._words)
            order = np.argsort(np.concatenate([owners, owners[ends]]), kind="stable")
            rows = np.concatenate([rows, words[ends]])[order]
            weights = np.concatenate([weights, weights[ends]])[order]
            owners = np.concatenate([owners, owners[ends]])[order]
        if as_query:
            weights = weights * self._query_weights[rows]
        weights = weights.astype(np.float32)
        bounds = np.searchsorted(owners, np.arange(len(texts.counts) + 1)).tolist()
        # One text at a time: its rows fit into the processor's cache, those of all texts do not.
        sums = np.zeros((len(texts.counts), self._table.shape[1]), np.float32)
        for text, (start, end) in enumerate(pairwise(bounds)):
            sums[text] = weights[start:end] @ self._table.take(rows[start:end], axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


class _TokenTexts:
    """Texts as one array of tokens."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        self.counts = np.array([len(each) for each in texts], np.int64)
        self.tokens = np.fromiter(chain.from_iterable(texts), np.int64, int(self.counts.sum()))
        self.owners = np.repeat(np.arange(len(self.counts)), self.counts)

    def part_numbers(self, sep: int) -> Tokens:
        """The number of the part that each token is in."""
        parts = self._part_ids(sep)
        starts = (np.cumsum(self.counts) - self.counts)[self.counts > 0]
        return np.asarray(parts - np.repeat(parts[starts], self.counts[self.counts > 0]), np.int64)

    def distances(self, sep: int, mask: int) -> Tokens:
        """The distance of each token from the first gap of its part; -1 if the part has none."""
        parts = self._part_ids(sep)
        gaps = np.flatnonzero(self.tokens == mask)[::-1]
        place = np.full(int(parts.max(initial=-1)) + 1, -1)
        place[parts[gaps]] = gaps
        gap = place[parts]
        return np.where(gap >= 0, np.abs(np.arange(len(parts)) - gap), -1)

    def _part_ids(self, sep: int) -> Tokens:
        ends = self.tokens == sep
        return np.asarray(np.cumsum(ends) - ends, np.int64)


def continuation_tokens(path: Path, tokens: int) -> Mask:
    """Which tokens of a tokeniser continue a word, as WordPiece marks them."""
    vocabulary: dict[str, int] = json.loads(path.read_text("utf-8"))["model"]["vocab"]
    continues = np.zeros(tokens, bool)
    continues[[number for token, number in vocabulary.items() if token.startswith("##")]] = True
    return continues


def whole_words(tokens: Tokens, continues: Mask, words: int) -> tuple[Tokens, Mask]:
    """The row of the word that each token ends, and whether it ends a word of several tokens."""
    continued = continues[tokens]
    hashes = tokens
    for _ in range(MAX_WORD_TOKENS):
        before = np.concatenate([[0], hashes[:-1]])
        hashes = np.where(continued, (before * FACTOR + tokens) & HASH_MASK, tokens)
    ends = continued & ~np.concatenate([continued[1:], [False]])
    return len(continues) + hashes % words, ends
