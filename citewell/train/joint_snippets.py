"""Trains JPDRMM: relevant papers must score higher than others, and relevant sentences higher than others.

The loss is a hinge loss over papers (BM25's other candidates must stay 1 below), weighted by `paper_loss`, plus a cross-entropy
over sentences, weighted by `sentence_loss`. Word vectors stay fixed. `citewell.models.joint_snippets` is the same network in
numpy, and explains it.
"""

from __future__ import annotations

import math
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
from citewell.train.steps import Steps, rate_share

_INITIAL_BIAS = -4.0
"""The initial score of a sentence: few are relevant."""
_NO_WEIGHT = -1e9
"""The logit of a position without a word."""


class Hyperparameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a recipe."""

    steps: int
    queries: int
    """Queries per step."""
    negatives: int
    """Negatives per query."""
    negative_depth: int
    """Negatives are sampled from this many of BM25's top candidates."""
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
    """Some queries, each with some papers, as inputs of the network."""

    queries: Tensor
    """One row of word ids per query, 0 for none."""
    ids: Tensor
    """One row of word ids per sentence, 0 for none."""
    features: Tensor
    sizes: list[int]
    """The number of sentences of each paper."""
    paper_features: Tensor
    query_of: Tensor
    """The query that each sentence is compared with."""


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
        terms = self.term2(_leaky(self.term1(self._similar(inputs))))[..., 0]
        matched = (terms * self._gate(inputs.queries)[inputs.query_of]).sum(dim=1)
        first = self.sentence2(_leaky(self.sentence1(torch.cat([matched[:, None], inputs.features], dim=1))))[:, 0]
        highest = self._highest(first, inputs.sizes)
        papers = self.paper2(_leaky(self.paper1(torch.cat([highest, inputs.paper_features], dim=1))))[:, 0]
        sizes = torch.tensor(inputs.sizes, device=papers.device)
        final = self.final(torch.stack([first, papers.repeat_interleave(sizes)], dim=1))[:, 0]
        return papers, final

    def _gate(self, queries: Tensor) -> Tensor:
        """The weight of each word of each query."""
        rows, present = self._rows(queries), queries > 0
        logits = self.gate(torch.cat([self.table[rows], self.idf[rows][..., None]], dim=-1))[..., 0]
        return torch.softmax(logits.masked_fill(~present, _NO_WEIGHT), dim=1) * present

    def _rows(self, numbers: Tensor) -> Tensor:
        return torch.where(numbers <= self._known, numbers, 0)

    def _similar(self, inputs: NetworkInput) -> Tensor:
        """The pooled similarities of the three kinds, for each sentence and query word."""
        present = (inputs.ids > 0)[:, None, :]
        exact = (inputs.ids[:, None, :] == inputs.queries[inputs.query_of][:, :, None]).float()
        both = zip(self._in_context(inputs.queries), self._in_context(inputs.ids), strict=True)
        cosines = [_unit(query)[inputs.query_of] @ _unit(sentence).transpose(1, 2) for query, sentence in both]
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

    def _highest(self, scores: Tensor, sizes: Sequence[int]) -> Tensor:
        """The highest first scores of the sentences of each paper; 0 where it has fewer."""
        rows = nn.utils.rnn.pad_sequence(list(scores.split(list(sizes))), batch_first=True, padding_value=-math.inf)
        best = rows.topk(min(self._sentences, rows.shape[1]), dim=1).values
        best = best.where(best > -math.inf, 0.0)
        return functional.pad(best, (0, self._sentences - best.shape[1]))


def _leaky(values: Tensor) -> Tensor:
    return functional.leaky_relu(values, LEAK)


def _unit(vectors: Tensor) -> Tensor:
    return functional.normalize(vectors, dim=-1, eps=1e-9)


class Candidates(NamedTuple):
    """Some candidates of a query, and some sentences of each."""

    query: int
    papers: list[int]
    sentences: list[npt.NDArray[np.int64]]

    def flat(self) -> list[int]:
        """The sentences of all papers."""
        return [int(sentence) for part in self.sentences for sentence in part]


class Training:
    """Samples queries with positives and negatives, and measures on dev."""

    def __init__(
        self,
        data: SentenceData,
        words: WordVectors,
        model: Network,
        numbers: Hyperparameters,
        device: torch.device,
        queries: Sequence[int] | None = None,
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.data, self.words, self.model, self.numbers = data, words, model, numbers
        self.best = BestWeights(model)
        self._device = device
        self._numbers = words.numbers(data.hashes)
        # A relevant paper that BM25 does not retrieve would teach that a low BM25 score is a good one.
        self._train_queries = [
            at
            for at in (data.queries("train").tolist() if queries is None else queries)
            if np.isin(data.relevant(at), data.candidates(at)[0]).any()
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
        groups = [self._sample(self._train_queries[at]) for at in sampled]
        scores, sentence_scores = self.model(self.inputs(groups))
        paper_parts = scores.split([len(group.papers) for group in groups])
        sentence_parts = sentence_scores.split([sum(map(len, group.sentences)) for group in groups])
        losses = [self._loss(*parts) for parts in zip(groups, paper_parts, sentence_parts, strict=True)]
        return torch.stack(losses).mean()

    def _sample(self, query: int) -> Candidates:
        """A relevant paper of a query, and some of its other candidates."""
        relevant, candidates = self.data.relevant(query), self.data.candidates(query)[0]
        positives = candidates[np.isin(candidates, relevant)]
        positive = positives[torch.randint(len(positives), (1,)).item()]
        others = candidates[~np.isin(candidates, relevant)][: self.numbers.negative_depth]
        negatives = others[torch.randperm(len(others))[: self.numbers.negatives].numpy()]
        papers = [int(positive), *negatives.tolist()]
        relevant_sentences = self.data.relevant_sentences(query)
        return Candidates(query, papers, [self._sample_sentences(paper, relevant_sentences) for paper in papers])

    def _loss(self, group: Candidates, scores: Tensor, sentence_scores: Tensor) -> Tensor:
        """The loss of one query; its first paper is relevant."""
        violations = (1.0 - scores[0] + scores[1:]).clamp(min=0)
        loss = self.numbers.paper_loss * (violations.mean() if len(violations) else scores.sum() * 0.0)
        relevant_sentences = self.data.relevant_sentences(group.query)
        flat = np.concatenate(group.sentences)
        of_text = ~np.isin(flat, self.data.paper_at[group.papers])
        if not len(relevant_sentences) or not of_text.any():  # without sentence labels
            return loss
        labels = torch.from_numpy(np.isin(flat, relevant_sentences)[of_text].astype(np.float32)).to(self._device)
        texts = sentence_scores[torch.from_numpy(of_text).to(self._device)]
        return loss + self.numbers.sentence_loss * functional.binary_cross_entropy_with_logits(texts, labels)

    def _sample_sentences(self, paper: int, relevant_sentences: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The title of a paper and its sentences, or a sample of them."""
        title, *others = self.data.sentences(paper)
        if len(others) > self.numbers.max_sentences:
            labelled = [sentence for sentence in others if sentence in relevant_sentences]
            rest = [sentence for sentence in others if sentence not in labelled]
            sampled = torch.randperm(len(rest))[: max(0, self.numbers.max_sentences - len(labelled))].tolist()
            others = sorted([*labelled, *(rest[at] for at in sampled)])
        return np.array([title, *others], np.int64)

    def inputs(self, groups: Sequence[Candidates]) -> NetworkInput:
        """The inputs for some queries and some of the candidates of each, with only the given sentences."""
        queries = [self._numbers[self.data.query_words(group.query)] for group in groups]
        rows = pad_rows([self._numbers[self.data.sentence(at)] for group in groups for at in group.flat()])
        counts = [sum(map(len, group.sentences)) for group in groups]
        features, paper_features = [], []
        for group, query, ids in zip(groups, queries, np.split(rows, np.cumsum(counts)[:-1]), strict=True):
            idf = self.words.idf[self.words.rows(query)]
            overlaps = overlap.overlap(query, idf, ids)
            starts = np.cumsum([0, *map(len, group.sentences[:-1])])
            features.append(overlaps.features)
            paper_features.append(overlap.paper_features(overlaps, starts, idf, self._bm25(group)))
        arrays = (
            pad_rows(queries, max(map(len, queries))),
            rows,
            np.concatenate(features),
            np.concatenate(paper_features),
            np.repeat(np.arange(len(groups)), counts),
        )
        ids_of_queries, ids, of_sentences, of_papers, query_of = (torch.from_numpy(part).to(self._device) for part in arrays)
        sizes = [len(each) for group in groups for each in group.sentences]
        return NetworkInput(ids_of_queries, ids, of_sentences, sizes, of_papers, query_of)

    def _bm25(self, group: Candidates) -> npt.NDArray[np.float32]:
        """BM25's standardised scores of some candidates."""
        candidates, scores = self.data.candidates(group.query)
        known = dict(zip(candidates.tolist(), scores.tolist(), strict=True))
        return standardise(np.array([known[paper] for paper in group.papers], np.float32), scores)

    @torch.no_grad()
    def score(self, query: int, papers: Sequence[int]) -> tuple[npt.NDArray[np.float32], list[npt.NDArray[np.float32]]]:
        """The scores of papers and of their sentences, without the title."""
        sentences = [np.array(self.data.sentences(paper), np.int64) for paper in papers]
        scores, sentence_scores = self.model(self.inputs([Candidates(query, list(papers), sentences)]))
        parts = np.split(sentence_scores.cpu().numpy(), np.cumsum([len(each) for each in sentences])[:-1])
        return scores.cpu().numpy(), [part[1:] for part in parts]

    def dev(self) -> dict[str, float]:
        self.model.eval()
        figures = measure(self.data, self.score, self.numbers.dev_depth, self.numbers.dev_queries)
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
    training = Training(data, words, model, numbers, device)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    steps = Steps(model, optimizer, training, out, checkpoint, progress)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every)
    training.best.load_best()
    weights = {name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()}
    np.savez(out / NETWORK, **weights, best=numbers.best, sentences=numbers.sentences)
    return model


def fit_on(data: SentenceData, words: WordVectors, numbers: Hyperparameters, queries: Sequence[int]) -> Training:
    """A training after all its steps on the given queries, on one CPU core; nothing is saved and dev is not looked at."""
    torch.manual_seed(numbers.seed)
    model = Network(words, numbers)
    training = Training(data, words, model, numbers, torch.device("cpu"), queries)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    for step in range(numbers.steps):
        for group in optimizer.param_groups:
            group["lr"] = numbers.rate * rate_share(step, numbers.steps, numbers.warmup)
        optimizer.zero_grad(set_to_none=True)
        training.loss().backward()
        optimizer.step()
    model.eval()
    return training


WHAT = "JPDRMM: joint scores of papers and their sentences for a query, in numpy"
"""The description on the card."""
