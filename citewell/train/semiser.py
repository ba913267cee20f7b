"""Trains SEMISER without labels: a sentence must be close to its own key terms and not to those of other sentences.

The sentences are those of every paper of the sets, titles included, as the study splits its documents (title and abstract in
one). Every pass over them takes each once, in a new order, with one of its key terms and one of another sentence.
The highest of the four cosines between the two vectors of a sentence and of a key term, at least 0, is the probability that
they belong together (cross-entropy). The cosine between the two vectors of each text is added to the loss, to keep them apart.
Word vectors stay fixed. `citewell.models.semiser` is the same network in numpy, and explains it.

Convolutions start at random or, with ``start = "identity"``, such that they return their input: before the first step a text's
vectors are near the mean of its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models.onnx import by_length
from citewell.models.semiser import MASKED, VIEWS
from citewell.models.word_networks import NETWORK
from citewell.models.word_vectors import MAX_WORDS, WordVectors, pad_rows
from citewell.progress import SILENT, Progress
from citewell.train.checkpoints import BestWeights, Checkpoint
from citewell.train.key_term_data import KeyTerms, extract, sentences_of
from citewell.train.save import EpochCheckpoints
from citewell.train.sentence_data import SentenceData
from citewell.train.sentence_pool import SentencePool
from citewell.train.steps import Steps
from citewell.types import IntArray

_EPSILON = 1e-4
"""Probabilities are clamped to this distance from 0 and 1."""
_BATCH_WORDS = 8192
_KEY_TERMS = "key-terms"
_GAIN, _NOISE = 3.0, 0.01
"""The weight of its input in a convolution that starts as the identity, and the standard deviation of its other weights."""
_SORTED = 64
"""Batches whose sentences are sorted by length together."""


class Hyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    steps: int
    pairs: int
    """Sentences per step, each with a key term of its own and one of another sentence."""
    sentences: int
    """Sentences to train on, drawn at random; 0: all."""
    terms: int
    """Key terms per sentence."""
    words: int
    """The most words of a key term."""
    size: int
    """Dimensions of the text vectors."""
    hidden: int
    """Units of the attention layer."""
    separation: float
    """The weight of the cosine between the two vectors of a text."""
    start: Literal["random", "identity"]
    """How convolutions start: at random, or such that they return their input."""
    rate: float
    warmup: float
    dev_every: int
    dev_queries: int
    """Dev queries per set."""
    dev_depth: int
    """Candidates of BM25 for each dev query; those of all of them together are searched."""
    seed: int


class Network(nn.Module):
    """SEMISER."""

    def __init__(self, words: WordVectors, numbers: Hyperparameters) -> None:
        super().__init__()
        self._known = len(words.hashes)
        self.register_buffer("table", torch.from_numpy(words.vectors), persistent=False)
        self.context1 = nn.Conv1d(words.vectors.shape[1], numbers.size, 3, padding=1)
        self.context2 = nn.Conv1d(numbers.size, numbers.size, 3, padding=1)
        self.sentence1, self.question1 = (nn.Linear(numbers.size, numbers.hidden) for _ in range(2))
        self.sentence2, self.question2 = (nn.Linear(numbers.hidden, VIEWS) for _ in range(2))
        if numbers.start == "identity":
            for layer in (self.context1, self.context2):
                _make_identity(layer)

    def sentences(self, ids: Tensor) -> Tensor:
        """The two vectors of sentences, given as rows of word ids."""
        return self._views(ids, self.sentence1, self.sentence2)

    def queries(self, ids: Tensor) -> Tensor:
        """The two vectors of queries."""
        return self._views(ids, self.question1, self.question2)

    def _views(self, ids: Tensor, first: nn.Linear, second: nn.Linear) -> Tensor:
        present = (ids > 0)[..., None]
        words = self.table[torch.where(ids <= self._known, ids, 0)]
        for layer in (self.context1, self.context2):
            words = torch.tanh(layer(words.transpose(1, 2)).transpose(1, 2)) * present
        logits = second(torch.tanh(first(words))).masked_fill(~present, MASKED)
        attention = torch.softmax(logits, dim=1) * present
        return functional.normalize(attention.transpose(1, 2) @ words, dim=-1, eps=1e-9)


@torch.no_grad()
def _make_identity(layer: nn.Conv1d) -> None:
    """Let a convolution return its input, scaled, with some noise."""
    assert layer.bias is not None
    nn.init.normal_(layer.weight, std=_NOISE)
    layer.weight += _GAIN * nn.init.dirac_(torch.empty_like(layer.weight))
    nn.init.zeros_(layer.bias)


def max_cosine(queries: Tensor, sentences: Tensor) -> Tensor:
    """The highest cosine between the vectors of each query and its sentence."""
    return (queries @ sentences.transpose(1, 2)).flatten(1).max(dim=1).values


class Training:
    """Draws sentences with key terms, and measures on dev."""

    def __init__(
        self,
        data: SentenceData,
        terms: KeyTerms,
        words: WordVectors,
        model: Network,
        numbers: Hyperparameters,
        device: torch.device,
    ) -> None:
        if len(terms) < 2:
            raise CitewellError("the papers of the sets have fewer than two sentences with key terms; name other sets")
        torch.manual_seed(numbers.seed)
        self.data, self.model, self.numbers = data, model, numbers
        self.best = BestWeights(model)
        self._device = device
        self._ids = words.numbers(data.hashes)
        self._terms = terms
        self._pools = [SentencePool(data, place, numbers.dev_queries, numbers.dev_depth) for place in range(len(data.sets))]
        self._done = 0
        self._order: tuple[int, IntArray] = (-1, np.zeros((0, 0), np.int64))

    def state(self) -> dict[str, Any]:
        """What further steps depend on, apart from torch's random numbers."""
        return {"best": self.best.state(), "done": self._done}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])
        self._done = int(state["done"])

    def loss(self) -> Tensor:
        """The loss of the next sentences, each with a key term of its own and one of another sentence."""
        own = self._next()
        other = (own + 1 + torch.randint(len(self._terms) - 1, own.shape).numpy()) % len(self._terms)
        sentences = self.model.sentences(self._sentences(self._terms.sentences[own]))
        queries = self.model.queries(self._key_terms(np.concatenate([own, other])))
        probabilities = max_cosine(queries, sentences.repeat(2, 1, 1)).clamp(_EPSILON, 1 - _EPSILON)
        labels = torch.arange(2 * len(own), device=self._device) < len(own)
        overlap = sum((views[:, 0] * views[:, 1]).sum(1).clamp(min=0).mean() for views in (sentences, queries))
        return functional.binary_cross_entropy(probabilities, labels.float()) + self.numbers.separation * overlap

    def _next(self) -> IntArray:
        """The next sentences of this pass over them, or the first of the next pass."""
        count = len(self._terms)
        size = min(self.numbers.pairs, count)
        epoch, start = divmod(self._done, count // size)
        if self._order[0] != epoch:
            self._order = epoch, self._shuffled(epoch, size)
        self._done += 1
        return self._order[1][start]

    def _shuffled(self, epoch: int, size: int) -> IntArray:
        """The batches of a pass, one in a row. Sentences of a batch are about as long as each other: padding costs time."""
        draw = np.random.default_rng([self.numbers.seed, epoch])
        order = draw.permutation(len(self._terms))[: len(self._terms) // size * size]
        at = self._terms.sentences[order]
        lengths = self.data.sentence_at[at + 1] - self.data.sentence_at[at]
        near = np.lexsort((lengths, np.arange(len(order)) // (_SORTED * size)))
        return draw.permutation(order[near].reshape(-1, size))

    def _sentences(self, at: IntArray) -> Tensor:
        return self._rows(self.data.words, self.data.sentence_at[at], self.data.sentence_at[at + 1])

    def _key_terms(self, rows: IntArray) -> Tensor:
        """One random key term of each sentence."""
        first, after = self._terms.first[rows], self._terms.first[rows + 1]
        chosen = first + (torch.rand(len(rows), dtype=torch.float64).numpy() * (after - first)).astype(np.int64)
        return self._rows(self._terms.words, self._terms.starts[chosen], self._terms.starts[chosen + 1])

    def _rows(self, words: npt.NDArray[Any], starts: IntArray, ends: IntArray) -> Tensor:
        """Slices of an array of words as rows of word ids, cut, and padded with 0."""
        width = max(1, min(MAX_WORDS, int((ends - starts).max())))
        places = starts[:, None] + np.arange(width)
        inside = places < ends[:, None]
        ids = np.where(inside, self._ids[words[np.where(inside, places, 0)]], 0)
        return torch.from_numpy(ids).to(self._device)

    @torch.no_grad()
    def score(self, query: int, sentences: Tensor) -> npt.NDArray[np.float32]:
        """The similarity of a dev query to the vectors of sentences."""
        words = torch.from_numpy(pad_rows([self._ids[self.data.query_words(query)]])).to(self._device)
        scores: npt.NDArray[np.float32] = max_cosine(self.model.queries(words), sentences).cpu().numpy()
        return scores

    @torch.no_grad()
    def encode(self, at: IntArray) -> Tensor:
        """The vectors of sentences."""
        lengths = (self.data.sentence_at[at + 1] - self.data.sentence_at[at]).tolist()
        vectors = torch.zeros(len(at), VIEWS, self.numbers.size, device=self._device)
        for places in by_length(lengths, _BATCH_WORDS):
            vectors[torch.from_numpy(places)] = self.model.sentences(self._sentences(at[places]))
        return vectors

    def dev(self) -> dict[str, float]:
        self.model.eval()
        figures: dict[str, float] = {}
        for pool in self._pools:
            vectors = self.encode(pool.sentences)
            figures |= pool.measure(partial(self.score, sentences=vectors))
        return figures | self.best.update(sum(figures.values()) / max(1, len(figures)))


def fit(
    data: SentenceData,
    words: WordVectors,
    numbers: Hyperparameters,
    checkpoint: Checkpoint,
    out: Path,
    device: torch.device,
    progress: Progress = SILENT,
) -> Network:
    """Train a network and write it to `out`; resumes from its checkpoint."""
    torch.manual_seed(numbers.seed)
    model = Network(words, numbers).to(device)
    sentences = sentences_of(data, numbers.sentences, numbers.seed)
    stored = partial(EpochCheckpoints, out / _KEY_TERMS)
    terms = extract(data, sentences, numbers.terms, numbers.words, stored, progress)
    training = Training(data, terms, words, model, numbers, device)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    steps = Steps(model, optimizer, training, out, checkpoint, progress)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every)
    training.best.load_best()
    np.savez(out / NETWORK, **{name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()})
    rmtree(out / _KEY_TERMS, ignore_errors=True)
    return model


WHAT = "SEMISER: two vectors per query or sentence, in numpy"
"""The description on the card."""
