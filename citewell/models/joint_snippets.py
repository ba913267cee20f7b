"""JPDRMM (Pappas and Androutsopoulos) as it is served, by numpy alone: papers and their sentences are scored together.

Every word of a question is held against every word of a sentence in three ways: by their vectors, by their vectors in context
(two convolutions over three words, added to the plain ones), and by being the same. Of each way the highest similarity and the
mean of the `best` highest count; how much a word of the question counts is told by its vector and rarity. Sentences get a first
score; the highest ones of a paper and its own features give the paper's score; and that one and the first score give the final
score of a sentence. A model is a folder with ``words.npz`` and ``network.npz`` (`citewell.train.joint_snippets` trains it).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.models import overlap
from citewell.models.onnx import by_length
from citewell.models.word_networks import Weights, convolved, dense, folder_of, leaky, read_network, unit
from citewell.models.word_vectors import WordVectors, side_by_side

NO_WORD = -2.0
"""The similarity of a place where no word stands; no cosine is as low."""
_BATCH_WORDS = 4096

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class JointSnippets:
    """One model."""

    def __init__(self, words: WordVectors, network: Weights) -> None:
        self._words, self._network = words, network

    @classmethod
    def read(cls, folder: Path) -> JointSnippets:
        return cls(WordVectors.load(folder), read_network(folder))

    def scores(self, question: str, papers: Sequence[Sequence[str]], bm25: Floats) -> tuple[Floats, list[Floats]]:
        """The scores of papers, each given by its sentences, and of their sentences; `bm25` as `against_candidates` has it."""
        if not papers:
            return np.zeros(0, np.float32), []
        asked, *sentences = self._words.read([question, *(text for paper in papers for text in paper)])
        first, found = self._sentences(asked, sentences)
        starts = np.cumsum([0, *map(len, papers)])
        rarity = self._words.rarity[self._words.rows(asked)]
        features = overlap.of_papers(found, starts[:-1], rarity, bm25)
        of_papers = self._papers(np.split(first, starts[1:-1]), features)
        both = np.stack([first, np.repeat(of_papers, np.diff(starts))], axis=1)
        final = dense(both, self._network, "final")[:, 0]
        return of_papers, np.split(final, starts[1:-1])

    def _sentences(self, asked: Numbers, sentences: Sequence[Numbers]) -> tuple[Floats, overlap.Met]:
        """The first scores of sentences, and what they hold of the question."""
        first = np.zeros(len(sentences), np.float32)
        words = np.zeros((len(sentences), len(asked)), bool)
        pairs = np.zeros((len(sentences), max(0, len(asked) - 1)), bool)
        features = np.zeros((len(sentences), overlap.OF_SENTENCE), np.float32)
        rarity = self._words.rarity[self._words.rows(asked)]
        question = self._in_context(asked[None])
        for places in by_length([len(each) for each in sentences], _BATCH_WORDS):
            ids = side_by_side([sentences[place] for place in places.tolist()])
            here = overlap.met(asked, rarity, ids)
            words[places], pairs[places], features[places] = here
            similar = self._similar(asked, question, ids)
            terms = dense(leaky(dense(similar, self._network, "term1")), self._network, "term2")[..., 0]
            matched = terms @ self._gate(asked)
            inputs = np.column_stack([matched, here.features])
            first[places] = dense(leaky(dense(inputs, self._network, "sentence1")), self._network, "sentence2")[:, 0]
        return first, overlap.Met(words, pairs, features)

    def _similar(self, asked: Numbers, question: tuple[Floats, Floats], ids: Numbers) -> Floats:
        """For each sentence and word of the question the pooled similarities of the three kinds."""
        plain, context = self._in_context(ids)
        there = (ids > 0)[:, None, :]
        exact = (ids[:, None, :] == asked[None, :, None]).astype(np.float32)
        cosines = [unit(mine) @ unit(theirs)[0].T for mine, theirs in ((plain, question[0]), (context, question[1]))]
        kinds = [np.swapaxes(cosine, 1, 2) for cosine in cosines]
        return np.stack([part for kind in (*kinds, exact) for part in pooled(kind, there, self._best)], axis=-1)

    @property
    def _best(self) -> int:
        return int(self._network["best"])

    def _in_context(self, ids: Numbers) -> tuple[Floats, Floats]:
        """Words as vectors, plain and in their context."""
        plain = self._words.vectors[self._words.rows(ids)]
        there = (ids > 0)[..., None]
        found = plain
        for layer in ("context1", "context2"):
            found = leaky(convolved(found, self._network, layer)) * there
        return plain, plain + found

    def _gate(self, asked: Numbers) -> Floats:
        """How much each word of the question counts."""
        rows = self._words.rows(asked)
        inputs = np.column_stack([self._words.vectors[rows], self._words.rarity[rows]])
        found = inputs @ self._network["gate.weight"][0]
        raised = np.exp(found - found.max(initial=-np.inf)) if len(found) else found
        return np.asarray(raised / max(float(raised.sum()), 1e-9), np.float32)

    def _papers(self, sentences: Sequence[Floats], features: Floats) -> Floats:
        """The scores of papers, from the first scores of their best sentences and their own features."""
        highest = np.zeros((len(sentences), int(self._network["sentences"])), np.float32)
        for row, scores in zip(highest, sentences, strict=True):
            best = np.sort(scores)[::-1][: len(row)]
            row[: len(best)] = best
        inputs = np.concatenate([highest, features], axis=1)
        return dense(leaky(dense(inputs, self._network, "paper1")), self._network, "paper2")[:, 0]


def against_candidates(scores: Floats, candidates: Floats) -> Floats:
    """BM25's scores of papers beside those of its candidates: how many deviations above their mean."""
    spread = float(candidates.std()) if len(candidates) else 0.0
    mean = float(candidates.mean()) if len(candidates) else 0.0
    return ((scores - mean) / spread if spread > 0 else np.zeros(len(scores))).astype(np.float32)


def pooled(similar: Floats, there: npt.NDArray[np.bool_], best: int) -> tuple[Floats, Floats]:
    """Along the last axis the highest value and the mean of the `best` highest; 0 where no word stands."""
    size = min(best, similar.shape[-1])
    held = np.where(there, similar, np.float32(NO_WORD))
    top = np.partition(held, held.shape[-1] - size, axis=-1)[..., -size:]
    counted = top > NO_WORD
    many = counted.sum(axis=-1)
    mean = np.where(counted, top, 0).sum(axis=-1) / np.maximum(many, 1)
    return np.where(many > 0, top.max(axis=-1), 0).astype(np.float32), mean.astype(np.float32)


@lru_cache(maxsize=4)
def load(name: str) -> JointSnippets:
    """The model called `name`, which is that of its recipe."""
    return JointSnippets.read(folder_of(name, name))
