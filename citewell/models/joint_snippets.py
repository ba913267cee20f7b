"""JPDRMM (Pappas and Androutsopoulos), served with numpy: scores papers and their sentences jointly.

Every word of the query is compared with every word of a sentence in three ways: by word vectors, by vectors in context (two
convolutions over three words, added to the plain vectors), and by identity. Each way gives the highest similarity and the mean
of the `best` highest; a gate weights the words of the query by their vector and idf. Sentences get a first score. The highest
first scores of a paper and its own features give the paper's score, and both scores give the final score of each sentence. A
model is a folder with ``words.npz`` and ``network.npz`` (`citewell.train.joint_snippets` trains it).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from citewell.models import overlap
from citewell.models.onnx import by_length
from citewell.models.word_networks import Weights, convolve, dense, leaky_relu, model_folder, normalise, read_network
from citewell.models.word_vectors import WordVectors, pad_rows
from citewell.types import Float32Array, IntArray, Mask

NO_WORD = -2.0
"""The similarity at a position without a word, below every cosine."""
_BATCH_WORDS = 4096


class JointSnippets:
    """One model."""

    def __init__(self, words: WordVectors, network: Weights) -> None:
        self._words, self._network = words, network

    @classmethod
    def read(cls, folder: Path) -> JointSnippets:
        return cls(WordVectors.load(folder), read_network(folder))

    def scores(
        self, query: str, papers: Sequence[Sequence[str]], bm25: Float32Array
    ) -> tuple[Float32Array, list[Float32Array]]:
        """The scores of papers, given as lists of sentences, and of those sentences; `bm25` comes from `standardise`."""
        if not papers:
            return np.zeros(0, np.float32), []
        query_words, *sentences = self._words.read([query, *(text for paper in papers for text in paper)])
        first, overlaps = self._sentences(query_words, sentences)
        starts = np.cumsum([0, *map(len, papers)])
        idf = self._words.idf[self._words.rows(query_words)]
        features = overlap.paper_features(overlaps, starts[:-1], idf, bm25)
        paper_scores = self._papers(np.split(first, starts[1:-1]), features)
        both = np.stack([first, np.repeat(paper_scores, np.diff(starts))], axis=1)
        final = dense(both, self._network, "final")[:, 0]
        return paper_scores, np.split(final, starts[1:-1])

    def _sentences(self, query_words: IntArray, sentences: Sequence[IntArray]) -> tuple[Float32Array, overlap.Overlap]:
        """The first scores of sentences, and their word overlap with the query."""
        first = np.zeros(len(sentences), np.float32)
        words = np.zeros((len(sentences), len(query_words)), bool)
        pairs = np.zeros((len(sentences), max(0, len(query_words) - 1)), bool)
        features = np.zeros((len(sentences), overlap.SENTENCE_FEATURES), np.float32)
        idf = self._words.idf[self._words.rows(query_words)]
        query = self._in_context(query_words[None])
        for places in by_length([len(each) for each in sentences], _BATCH_WORDS):
            ids = pad_rows([sentences[place] for place in places.tolist()])
            here = overlap.overlap(query_words, idf, ids)
            words[places], pairs[places], features[places] = here
            similar = self._similar(query_words, query, ids)
            terms = dense(leaky_relu(dense(similar, self._network, "term1")), self._network, "term2")[..., 0]
            matched = terms @ self._gate(query_words)
            inputs = np.column_stack([matched, here.features])
            first[places] = dense(leaky_relu(dense(inputs, self._network, "sentence1")), self._network, "sentence2")[:, 0]
        return first, overlap.Overlap(words, pairs, features)

    def _similar(self, query_words: IntArray, query: tuple[Float32Array, Float32Array], ids: IntArray) -> Float32Array:
        """The pooled similarities of the three kinds, for each sentence and query word."""
        plain, context = self._in_context(ids)
        present = (ids > 0)[:, None, :]
        exact = (ids[:, None, :] == query_words[None, :, None]).astype(np.float32)
        cosines = [normalise(mine) @ normalise(theirs)[0].T for mine, theirs in ((plain, query[0]), (context, query[1]))]
        kinds = [np.swapaxes(cosine, 1, 2) for cosine in cosines]
        return np.stack([part for kind in (*kinds, exact) for part in pool(kind, present, self._best)], axis=-1)

    @property
    def _best(self) -> int:
        return int(self._network["best"])

    def _in_context(self, ids: IntArray) -> tuple[Float32Array, Float32Array]:
        """Word vectors, plain and in context."""
        plain = self._words.vectors[self._words.rows(ids)]
        present = (ids > 0)[..., None]
        hidden = plain
        for layer in ("context1", "context2"):
            hidden = leaky_relu(convolve(hidden, self._network, layer)) * present
        return plain, plain + hidden

    def _gate(self, query_words: IntArray) -> Float32Array:
        """The weight of each query word."""
        rows = self._words.rows(query_words)
        inputs = np.column_stack([self._words.vectors[rows], self._words.idf[rows]])
        logits = inputs @ self._network["gate.weight"][0]
        exponentials = np.exp(logits - logits.max(initial=-np.inf)) if len(logits) else logits
        return np.asarray(exponentials / max(float(exponentials.sum()), 1e-9), np.float32)

    def _papers(self, sentences: Sequence[Float32Array], features: Float32Array) -> Float32Array:
        """The scores of papers, from the first scores of their best sentences and their own features."""
        highest = np.zeros((len(sentences), int(self._network["sentences"])), np.float32)
        for row, scores in zip(highest, sentences, strict=True):
            best = np.sort(scores)[::-1][: len(row)]
            row[: len(best)] = best
        inputs = np.concatenate([highest, features], axis=1)
        return dense(leaky_relu(dense(inputs, self._network, "paper1")), self._network, "paper2")[:, 0]


def standardise(scores: Float32Array, candidates: Float32Array) -> Float32Array:
    """BM25 scores as standard deviations above the mean of the candidates."""
    spread = float(candidates.std()) if len(candidates) else 0.0
    mean = float(candidates.mean()) if len(candidates) else 0.0
    return ((scores - mean) / spread if spread > 0 else np.zeros(len(scores))).astype(np.float32)


def pool(similar: Float32Array, present: Mask, best: int) -> tuple[Float32Array, Float32Array]:
    """Along the last axis, the highest value and the mean of the `best` highest; 0 if there is no word."""
    size = min(best, similar.shape[-1])
    masked = np.where(present, similar, np.float32(NO_WORD))
    top = np.partition(masked, masked.shape[-1] - size, axis=-1)[..., -size:]
    counted = top > NO_WORD
    count = counted.sum(axis=-1)
    mean = np.where(counted, top, 0).sum(axis=-1) / np.maximum(count, 1)
    return np.where(count > 0, top.max(axis=-1), 0).astype(np.float32), mean.astype(np.float32)


@lru_cache(maxsize=4)
def load(name: str) -> JointSnippets:
    """The model called `name`, which is also the name of its recipe."""
    return JointSnippets.read(model_folder(name, name))
