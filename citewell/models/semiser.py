"""SEMISER (Pappas, Stavropoulos and Androutsopoulos 2020), served with numpy: two vectors per text.

Two convolutions over three words put word vectors into context; self-attention, one for sentences and one for queries, pools
them into two vectors per text. The similarity of a query and a sentence is the highest cosine of their vectors. A model is a
folder with ``words.npz`` and ``network.npz`` (`citewell.train.semiser` trains it).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from citewell.models.onnx import by_length
from citewell.models.word_networks import Weights, convolve, dense, model_folder, normalise, read_network
from citewell.models.word_vectors import WordVectors, pad_rows
from citewell.types import Float32Array, IntArray

VIEWS = 2
"""Vectors per text."""
MASKED = -1e9
"""The attention logit of a position without a word."""
_BATCH_WORDS = 16384


class Semiser:
    """One model."""

    def __init__(self, words: WordVectors, network: Weights) -> None:
        self._words, self._network = words, network

    @classmethod
    def read(cls, folder: Path) -> Semiser:
        return cls(WordVectors.load(folder), read_network(folder))

    @property
    def dimensions(self) -> int:
        return int(self._network["context2.bias"].shape[0])

    def sentences(self, texts: Sequence[str]) -> Float32Array:
        """The two vectors of each sentence, at length 1; both are 0 if it has no known word."""
        return self._encode(texts, "sentence")

    def query(self, text: str) -> Float32Array:
        """The two vectors of a query."""
        vectors: Float32Array = self._encode([text], "question")[0]
        return vectors

    def _encode(self, texts: Sequence[str], side: str) -> Float32Array:
        words = self._words.read(texts)
        vectors = np.zeros((len(texts), VIEWS, self.dimensions), np.float32)
        for places in by_length([len(each) for each in words], _BATCH_WORDS):
            vectors[places] = self._views(pad_rows([words[place] for place in places.tolist()]), side)
        return vectors

    def _views(self, ids: IntArray, side: str) -> Float32Array:
        present = (ids > 0)[..., None]
        words = self._words.vectors[self._words.rows(ids)]
        for layer in ("context1", "context2"):
            words = np.tanh(convolve(words, self._network, layer)) * present
        logits = dense(np.tanh(dense(words, self._network, f"{side}1")), self._network, f"{side}2")
        logits = np.where(present, logits, np.float32(MASKED))
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True)) * present
        attention = exponentials / np.maximum(exponentials.sum(axis=1, keepdims=True), np.float32(1e-9))
        return normalise(np.swapaxes(attention, 1, 2) @ words)


def max_cosine(query: Float32Array, sentences: Float32Array) -> Float32Array:
    """The highest cosine of a query's two vectors with those of each sentence."""
    return np.asarray((sentences @ query.T).max(axis=(1, 2)), np.float32)


@lru_cache(maxsize=2)
def load(name: str) -> Semiser:
    """The model called `name`."""
    return Semiser.read(model_folder(name, "semiser"))
