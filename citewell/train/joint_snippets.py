"""Trains JPDRMM: relevant papers must score higher than others, and relevant sentences higher than others.

The loss is a hinge loss over papers (BM25's other candidates must stay 1 below), weighted by `paper_loss`, plus a cross-entropy
over sentences, weighted by `sentence_loss`. Word vectors stay fixed. `citewell.models.joint_snippets` is the same network in
numpy, and explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models import overlap
from citewell.models.joint_snippets import NO_WORD, standardise
from citewell.models.word_networks import LEAK, NETWORK
from citewell.models.word_vectors import WordVectors, pad_rows
from citewell.progress import SILENT, Progress
from citewell.train.checkpoints import BestWeights, Checkpoint
from citewell.train.sentence_data import SentenceData
from citewell.train.sentence_measures import measure
from citewell.train.steps import Steps

_INITIAL_BIAS = -4.0
"""The initial score of a sentence: few are relevant."""


class Hyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    steps: int
    queries: int
    """Queries per step."""
    negatives: int
    """Negatives per query."""
    max_sentences: int
    """Longer papers are sampled to this many sentences, including the relevant ones."""
    paper_loss: float
    """The weight of the loss over papers."""
    sentence_loss: float
    """The weight of the loss over sentences."""
    best: int
    """How many of the highest similarities of a word are averaged."""
    sentences: int
    """How many of a paper's highest sentence scores enter its score."""
    hidden: int
    rate: float
    warmup: float
    dev_every: int
    dev_queries: int
    dev_depth: int
    seed: int


class NetworkInput(NamedTuple):
    """A query and some papers as inputs of the network."""

    query: Tensor
    """The ids of its words."""
    ids: Tensor
    """One row of word ids per sentence, 0 for none."""
    features: Tensor
    sizes: list[int]
    """The number of sentences of each paper."""
    paper_features: Tensor


class Network(nn.Module):
    """JPDRMM."""

    def __init__(self, words: WordVectors, numbers: Hyperparameters) -> None:
        super().__init__()
        self._known, self._best, self._sentences = len(words.hashes), numbers.best, numbers.sentences
        self.register_buffer("table", torch.from_numpy(words.vectors), persistent=False)
        self.register_buffer("idf", torch.from_numpy(words.idf), persistent=False)
        size, hidden = words.vectors.shape[1], numbers.hidden
        self.context1, self.context2 = (nn.Conv1d(size, size, 3, padding=1) for _ in range(2))
        self.gate = nn.Linear(size + 1, 1, bias=False)
        self.term1, self.term2 = nn.Linear(6, hidden), nn.Linear(hidden, 1)
        self.sentence1, self.sentence2 = nn.Linear(1 + overlap.SENTENCE_FEATURES, hidden), nn.Linear(hidden, 1)
        self.paper1, self.paper2 = nn.Linear(numbers.sentences + overlap.PAPER_FEATURES, hidden), nn.Linear(hidden, 1)
        self.final = nn.Linear(2, 1)
        with torch.no_grad():  # few sentences are relevant, and the final score should start as the first one
            self.final.weight.fill_(1.0)
            self.final.bias.fill_(_INITIAL_BIAS)

    def forward(self, inputs: NetworkInput) -> tuple[Tensor, Tensor]:
        """The scores of the papers, and of their sentences."""
        rows = self._rows(inputs.query)
        similar = self._similar(inputs)
        gate = torch.softmax(self.gate(torch.cat([self.table[rows], self.idf[rows, None]], dim=1))[:, 0], dim=0)
        matched = self.term2(_leaky(self.term1(similar)))[..., 0] @ gate
        first = self.sentence2(_leaky(self.sentence1(torch.cat([matched[:, None], inputs.features], dim=1))))[:, 0]
        highest = torch.stack([self._highest(part) for part in first.split(inputs.sizes)])
        papers = self.paper2(_leaky(self.paper1(torch.cat([highest, inputs.paper_features], dim=1))))[:, 0]
        sizes = torch.tensor(inputs.sizes, device=papers.device)
        final = self.final(torch.stack([first, papers.repeat_interleave(sizes)], dim=1))[:, 0]
        return papers, final

    def _rows(self, numbers: Tensor) -> Tensor:
        return torch.where(numbers <= self._known, numbers, 0)

    def _similar(self, inputs: NetworkInput) -> Tensor:
        plain, context = self._in_context(inputs.ids)
        query_vectors, query_in_context = self._in_context(inputs.query[None])
        present = (inputs.ids > 0)[:, None, :]
        exact = (inputs.ids[:, None, :] == inputs.query[None, :, None]).float()
        both = ((plain, query_vectors), (context, query_in_context))
        cosines = [_unit(theirs[0]) @ _unit(mine).transpose(1, 2) for mine, theirs in both]
        return torch.stack([part for kind in (*cosines, exact) for part in self._pooled(kind, present)], dim=-1)

    def _in_context(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        plain = self.table[self._rows(ids)]
        present = (ids > 0)[..., None]
        hidden = plain
        for layer in (self.context1, self.context2):
            hidden = _leaky(layer(hidden.transpose(1, 2)).transpose(1, 2)) * present
        return plain, plain + hidden

    def _pooled(self, similar: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        masked = similar.masked_fill(~present, NO_WORD)
        top = masked.topk(min(self._best, masked.shape[-1]), dim=-1).values
        counted = top > NO_WORD
        count = counted.sum(-1)
        mean = top.where(counted, 0.0).sum(-1) / count.clamp(min=1)
        return top[..., 0].where(count > 0, 0.0), mean

    def _highest(self, scores: Tensor) -> Tensor:
        best = scores.topk(min(self._sentences, len(scores))).values
        return functional.pad(best, (0, self._sentences - len(best)))


def _leaky(values: Tensor) -> Tensor:
    return functional.leaky_relu(values, LEAK)


def _unit(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors, dim=-1, eps=1e-9)


class Training:
    """Samples queries with positives and negatives, and measures on dev."""

    def __init__(
        self, data: SentenceData, words: WordVectors, model: Network, numbers: Hyperparameters, device: torch.device
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.data, self.words, self.model, self.numbers = data, words, model, numbers
        self.best = BestWeights(model)
        self._device = device
        self._numbers = words.numbers(data.hashes)
        # A relevant paper that BM25 does not retrieve would teach that a low BM25 score is a good one.
        self._train_queries = [
            at for at in data.queries("train").tolist() if np.isin(data.relevant(at), data.candidates(at)[0]).any()
        ]
        if not self._train_queries:
            raise CitewellError("BM25 retrieves no relevant paper for any query; raise 'depth' in the recipe's [queries]")

    def state(self) -> dict[str, Any]:
        """What further steps depend on, apart from torch's random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """The loss of some queries."""
        sampled = torch.randint(len(self._train_queries), (self.numbers.queries,)).tolist()
        return torch.stack([self._loss(self._train_queries[at]) for at in sampled]).mean()

    def _loss(self, query: int) -> Tensor:
        relevant, candidates = self.data.relevant(query), self.data.candidates(query)[0]
        positives = candidates[np.isin(candidates, relevant)]
        positive = positives[torch.randint(len(positives), (1,)).item()]
        others = candidates[~np.isin(candidates, relevant)]
        negatives = others[torch.randperm(len(others))[: self.numbers.negatives].numpy()]
        papers = [int(positive), *negatives.tolist()]
        relevant_sentences = self.data.relevant_sentences(query)
        sentences = [self._sample_sentences(paper, relevant_sentences) for paper in papers]
        scores, sentence_scores = self.model(self.inputs(query, papers, sentences))
        violations = (1.0 - scores[0] + scores[1:]).clamp(min=0)
        loss = self.numbers.paper_loss * (violations.mean() if len(violations) else scores.sum() * 0.0)
        if not len(relevant_sentences):  # without sentence labels
            return loss
        flat = np.concatenate(sentences)
        titles = np.isin(flat, self.data.paper_at[papers])
        labels = torch.from_numpy(np.isin(flat, relevant_sentences)[~titles].astype(np.float32)).to(self._device)
        if not len(labels):
            return loss
        of_text = sentence_scores[torch.from_numpy(~titles).to(self._device)]
        return loss + self.numbers.sentence_loss * functional.binary_cross_entropy_with_logits(of_text, labels)

    def _sample_sentences(self, paper: int, relevant_sentences: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The title of a paper and its sentences, or a sample of them."""
        title, *others = self.data.sentences(paper)
        if len(others) > self.numbers.max_sentences:
            labelled = [sentence for sentence in others if sentence in relevant_sentences]
            rest = [sentence for sentence in others if sentence not in labelled]
            sampled = torch.randperm(len(rest))[: max(0, self.numbers.max_sentences - len(labelled))].tolist()
            others = sorted([*labelled, *(rest[at] for at in sampled)])
        return np.array([title, *others], np.int64)

    def inputs(self, query: int, papers: Sequence[int], sentences: Sequence[npt.NDArray[np.int64]]) -> NetworkInput:
        """The inputs for a query and some of its candidates, with only the given sentences."""
        query_words = self._numbers[self.data.query_words(query)]
        ids = pad_rows([self._numbers[self.data.sentence(at)] for at in np.concatenate(sentences).tolist()])
        idf = self.words.idf[self.words.rows(query_words)]
        overlaps = overlap.overlap(query_words, idf, ids)
        sizes = [len(each) for each in sentences]
        candidates, scores = self.data.candidates(query)
        known = dict(zip(candidates.tolist(), scores.tolist(), strict=True))
        bm25 = standardise(np.array([known[paper] for paper in papers], np.float32), scores)
        paper_features = overlap.paper_features(overlaps, np.cumsum([0, *sizes[:-1]]), idf, bm25)
        query_words_, ids_, features, of_papers_ = (
            torch.from_numpy(part).to(self._device) for part in (query_words, ids, overlaps.features, paper_features)
        )
        return NetworkInput(query_words_, ids_, features, sizes, of_papers_)

    @torch.no_grad()
    def score(self, query: int, papers: Sequence[int]) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.float32]]]:
        """The scores of papers and of their sentences, without the title."""
        sentences = [np.array(self.data.sentences(paper), np.int64) for paper in papers]
        scores, sentence_scores = self.model(self.inputs(query, papers, sentences))
        parts = np.split(sentence_scores.cpu().numpy(), np.cumsum([len(each) for each in sentences])[:-1])
        return scores.cpu().numpy(), [part[1:] for part in parts]

    def dev(self) -> dict[str, float]:
        self.model.eval()
        figures = measure(self.data, self.score, self.numbers.dev_depth, self.numbers.dev_queries)
        self.best.update(sum(figures.values()) / max(1, len(figures)))
        return figures


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
    weights = {name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()}
    np.savez(out / NETWORK, **weights, best=numbers.best, sentences=numbers.sentences)
    return model


WHAT = "JPDRMM: joint scores of papers and their sentences for a query, in numpy"
"""The description on the card."""
