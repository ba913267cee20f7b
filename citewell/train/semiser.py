"""Trains SEMISER without labels: a sentence must be close to its own key terms and not to those of other sentences.

The highest of the four cosines between the two vectors of a sentence and of a key term, at least 0, is the probability that
they belong together (cross-entropy). The cosine between the two vectors of each text is added to the loss, to keep them apart.
Word vectors stay fixed. `citewell.models.semiser` is the same network in numpy, and explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from citewell.models.word_vectors import WordVectors, pad_rows
from citewell.progress import SILENT, Progress
from citewell.text.sgrank import Term, key_terms
from citewell.train.checkpoints import BestWeights, Checkpoint
from citewell.train.sentence_data import SentenceData
from citewell.train.sentence_measures import measure
from citewell.train.steps import Steps

_EPSILON = 1e-4
"""Probabilities are clamped to this distance from 0 and 1."""
_BATCH_WORDS = 8192
_MAX_WORDS = 200
"""Words of a sentence in which key terms are searched."""


class Hyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    steps: int
    pairs: int
    """Sentences per step, each with a key term of its own and one of another sentence."""
    sentences: int
    """Sentences to train on."""
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
    rate: float
    warmup: float
    dev_every: int
    dev_queries: int
    dev_depth: int
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


def max_cosine(queries: Tensor, sentences: Tensor) -> Tensor:
    """The highest cosine between the vectors of each query and its sentence."""
    return (queries @ sentences.transpose(1, 2)).flatten(1).max(dim=1).values


class Training:
    """Samples sentences with key terms, and measures on dev."""

    def __init__(
        self, data: SentenceData, words: WordVectors, model: Network, numbers: Hyperparameters, device: torch.device
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.data, self.model, self.numbers = data, model, numbers
        self.best = BestWeights(model)
        self._device = device
        self._numbers = words.numbers(data.hashes)
        self._sentences, self._terms = _with_terms(data, numbers)
        if len(self._sentences) < 2:
            raise CitewellError("the papers of the sets have fewer than two sentences with key terms; name other sets")

    def state(self) -> dict[str, Any]:
        """What further steps depend on, apart from torch's random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """The loss of some sentences, each with a key term of its own and one of another sentence."""
        count = len(self._sentences)
        own = torch.randint(count, (self.numbers.pairs,))
        other = (own + 1 + torch.randint(count - 1, own.shape)) % count
        terms = [self._term(at) for at in (*own.tolist(), *other.tolist())]
        sentences = self.model.sentences(self._ids([self.data.sentence(self._sentences[at]) for at in own.tolist()]))
        queries = self.model.queries(self._ids([np.array(term) for term in terms]))
        probabilities = max_cosine(queries, sentences.repeat(2, 1, 1)).clamp(_EPSILON, 1 - _EPSILON)
        labels = torch.arange(len(terms), device=self._device) < len(own)
        overlap = sum((views[:, 0] * views[:, 1]).sum(1).clamp(min=0).mean() for views in (sentences, queries))
        return functional.binary_cross_entropy(probabilities, labels.float()) + self.numbers.separation * overlap

    def _term(self, at: int) -> Term:
        terms = self._terms[at]
        return terms[int(torch.randint(len(terms), (1,)).item())]

    def _ids(self, texts: Sequence[npt.NDArray[np.int64]]) -> Tensor:
        return torch.from_numpy(pad_rows([self._numbers[text] for text in texts])).to(self._device)

    @torch.no_grad()
    def score(self, query: int, papers: Sequence[int]) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.float32]]]:
        """The scores of papers (the best of their sentences) and of sentences."""
        parts = [[self.data.sentence(at) for at in self.data.sentences(paper)[1:]] for paper in papers]
        flat = [text for part in parts for text in part]
        query_words = self.model.queries(self._ids([self.data.query_words(query)]))
        similarities = np.zeros(len(flat), np.float32)
        for places in by_length([len(text) for text in flat], _BATCH_WORDS):
            sentences = self.model.sentences(self._ids([flat[place] for place in places.tolist()]))
            similarities[places] = max_cosine(query_words, sentences).cpu().numpy()
        scores = np.split(similarities, np.cumsum([len(part) for part in parts])[:-1])
        return np.array([part.max(initial=-1.0) for part in scores], np.float32), scores

    def dev(self) -> dict[str, float]:
        self.model.eval()
        figures = measure(self.data, self.score, self.numbers.dev_depth, self.numbers.dev_queries)
        self.best.update(sum(figures.values()) / max(1, len(figures)))
        return figures


def _with_terms(data: SentenceData, numbers: Hyperparameters) -> tuple[list[int], list[list[Term]]]:
    """A sample of sentences that are not titles, and their key terms."""
    idf = data.idf().tolist()
    others = np.setdiff1d(np.arange(len(data.sentence_at) - 1), data.paper_at)
    sampled = np.random.default_rng(numbers.seed).permutation(others)[: numbers.sentences].tolist()
    term_lists = [key_terms(data.runs([at], _MAX_WORDS), idf.__getitem__, numbers.terms, numbers.words) for at in sampled]
    usable = [(at, terms) for at, terms in zip(sampled, term_lists, strict=True) if terms]
    return [at for at, _ in usable], [terms for _, terms in usable]


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
    training = Training(data, words, model, numbers, device)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    steps = Steps(model, optimizer, training, out, checkpoint, progress)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every)
    training.best.load_best()
    np.savez(out / NETWORK, **{name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()})
    return model


WHAT = "SEMISER: two vectors per query or sentence, in numpy"
"""The description on the card."""
