"""SEMISER (Pappas, Stavropoulos and Androutsopoulos 2020) as it is served, by numpy alone: two vectors a text.

Two convolutions over three words put the vectors of words into their context; self-attention, one for sentences and one for
questions, makes two vectors of a text. A question and a sentence are as near as the nearest two of their vectors. A model is a
folder with ``words.npz`` and ``network.npz`` (`citewell.train.semiser` trains it).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.models.onnx import by_length
from citewell.models.word_networks import Weights, convolved, dense, folder_of, read_network, unit
from citewell.models.word_vectors import WordVectors, side_by_side

VIEWS = 2
"""Vectors of a text."""
NOWHERE = -1e9
"""What a place without a word counts for in attention."""
_BATCH_WORDS = 16384

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


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

    def sentences(self, texts: Sequence[str]) -> Floats:
        """The two vectors of each sentence, at length 1; both are 0 where it has no word."""
        return self._encoded(texts, "sentence")

    def question(self, text: str) -> Floats:
        """The two vectors of a question."""
        found: Floats = self._encoded([text], "question")[0]
        return found

    def _encoded(self, texts: Sequence[str], side: str) -> Floats:
        read = self._words.read(texts)
        found = np.zeros((len(texts), VIEWS, self.dimensions), np.float32)
        for places in by_length([len(each) for each in read], _BATCH_WORDS):
            found[places] = self._views(side_by_side([read[place] for place in places.tolist()]), side)
        return found

    def _views(self, ids: Numbers, side: str) -> Floats:
        there = (ids > 0)[..., None]
        words = self._words.vectors[self._words.rows(ids)]
        for layer in ("context1", "context2"):
            words = np.tanh(convolved(words, self._network, layer)) * there
        told = dense(np.tanh(dense(words, self._network, f"{side}1")), self._network, f"{side}2")
        told = np.where(there, told, np.float32(NOWHERE))
        raised = np.exp(told - told.max(axis=1, keepdims=True)) * there
        shares = raised / np.maximum(raised.sum(axis=1, keepdims=True), np.float32(1e-9))
        return unit(np.swapaxes(shares, 1, 2) @ words)


def nearness(question: Floats, sentences: Floats) -> Floats:
    """The highest of the cosines of a question's two vectors and those of each sentence."""
    return np.asarray((sentences @ question.T).max(axis=(1, 2)), np.float32)


@lru_cache(maxsize=2)
def load(name: str) -> Semiser:
    """The model called `name`."""
    return Semiser.read(folder_of(name, "semiser"))
