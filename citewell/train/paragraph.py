"""Medić's paragraph model: an encoder tuned to bring a topic sentence close to the papers that its paragraph cites.

A triplet is a query, a positive and a negative. A quadruplet has two positives: both must be nearer to the query than the
negative, and nearer to each other than to the negative, each by a margin. Negatives come from three pools: papers that the
citing paper cites in other paragraphs, papers that it cites elsewhere, and papers cited by those that its paragraphs cite. A
baseline is tuned on the same citations without topic sentences (`Hyperparameters.queries_are`). Only the last layers are tuned.
``python -m citewell.train.paragraph PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models import weights
from citewell.models.inputs import Inputs
from citewell.progress import SILENT, Progress
from citewell.train import encoder
from citewell.train.bert import WEIGHTS, Bert, first_vector, mean_vector, write_bert
from citewell.train.card import write_record
from citewell.train.checkpoints import BestWeights, Checkpoint, training_fingerprint
from citewell.train.encoder import CHECKPOINT, choose_device, parse_section
from citewell.train.lists import ranking_measures
from citewell.train.packs import TASKS, Arrays, load
from citewell.train.recipe_files import load as load_recipe
from citewell.train.steps import Steps

LOSSES = ("triplet", "quadruplet")
POOLING = {"mean": mean_vector, "first token": first_vector}
QUERIES = ("paragraphs", "papers")
export = encoder.export


@dataclass(frozen=True)
class Hyperparameters:
    """The settings of a recipe."""

    loss: str = "quadruplet"
    queries_are: str = "paragraphs"
    """``paragraphs``: topic sentences with their papers. ``papers``: titles and abstracts alone; whatever their paragraphs cite
    is positive, and any other paper that they do not cite is negative."""
    pooling: str = "mean"
    """The vector of a text: the ``mean`` of its tokens, or that of its ``first token``."""
    epochs: float = 5.0
    queries: int = 16
    """Queries per step."""
    negatives: tuple[int, ...] = (4, 3, 3)
    """Negatives per query from each pool."""
    margin: float = 0.2
    layers: int = 2
    """How many of the last layers are tuned."""
    rate: float = 2e-5
    warmup: float = 0.05
    decay: float = 0.01
    dropout: float = 0.1
    dev_every: int = 500
    dev_sample: int = 1000
    seed: int = 1


SECTIONS = {"numbers": Hyperparameters}
"""The sections of a recipe."""


def triplet(query: Tensor, positive: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """The loss for each negative, over vectors (queries, 1 or papers, dimensions): the positive must be nearer."""
    return functional.relu(_distance(query, positive) - _distance(query, negatives) + margin)


def quadruplet(query: Tensor, one: Tensor, other: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Both positives must be nearer to the query, and to each other, than each negative."""
    to_query = triplet(query, one, negatives, margin) + triplet(query, other, negatives, margin)
    to_each_other = triplet(one, other, negatives, margin) + triplet(other, one, negatives, margin)
    return to_query + to_each_other


def _distance(vectors: Tensor, other_vectors: Tensor) -> Tensor:
    # At distance 0 the square root has no gradient.
    return ((vectors - other_vectors) ** 2).sum(-1).clamp(min=1e-12).sqrt()


class NegativePools:
    """The pools of negatives of paragraph queries."""

    def __init__(self, arrays: Arrays) -> None:
        self._date, self._set = arrays["paper_date"], arrays["paper_set"]
        self._query_date, self._question_set = arrays["question_date"], arrays["question_set"]
        self._citing = arrays["question_citing"]
        self._relevant, self._relevant_at = arrays["question_wanted"], arrays["question_wanted_at"]
        self._cites = arrays["cites"]
        self._papers = {
            place: np.flatnonzero((self._set == place) & (arrays["paper_sentence"] == 0)) for place in set(self._set.tolist())
        }
        self._paragraphs: dict[int, set[int]] = {}
        for query in np.flatnonzero(arrays["question_task"] == TASKS.index("paragraph")).tolist():
            self._paragraphs.setdefault(int(self._citing[query]), set()).update(self._cited_in(query))

    def relevant(self, query: int) -> list[int]:
        """The positives of a query."""
        return self._cited_in(query)

    def _cited_in(self, query: int) -> list[int]:
        """The papers that a paragraph cites."""
        papers: list[int] = self._relevant[self._relevant_at[query] : self._relevant_at[query + 1]].tolist()
        return papers

    def pools_of(self, query: int) -> list[list[int]]:
        """The three pools of a query, each ascending, none from its future."""
        citing, relevant = int(self._citing[query]), set(self.relevant(query))
        others = self._paragraphs[citing] - relevant if citing >= 0 else set()
        cited = self._cited_by(citing) if citing >= 0 else set()
        year = int(self._query_date[query]) // 10_000
        earlier = [paper for paper in others | relevant if 0 < self._date[paper] // 10_000 < year]
        further = {paper for start in earlier for paper in self._cited_by(start)}
        pools = (others, cited - others - relevant, further - cited - others - relevant)
        return [sorted(paper for paper in pool if self._visible(paper, query) and paper != citing) for pool in pools]

    def draw(self, query: int, sizes: Sequence[int], random: np.random.Generator) -> list[int]:
        """Negatives from each pool; other visible papers replace those that a pool lacks."""
        pools = self.pools_of(query)
        negatives = [paper for pool, size in zip(pools, sizes, strict=True) for paper in _some(pool, size, random)]
        excluded = {*negatives, *self._excluded(query)}
        everything = self._papers[int(self._question_set[query])]
        for _ in range(100 * sum(sizes)):
            if len(negatives) == sum(sizes):
                break
            paper = int(everything[random.integers(len(everything))])
            if paper not in excluded and self._visible(paper, query):
                negatives.append(paper)
                excluded.add(paper)
        # In a set with very few earlier papers, some occur twice.
        return [negatives[at % len(negatives)] for at in range(sum(sizes))] if negatives else []

    def _excluded(self, query: int) -> set[int]:
        return {*self.relevant(query), int(self._citing[query])}

    def _visible(self, paper: int, query: int) -> bool:
        return bool(0 < self._date[paper] <= self._query_date[query])

    def _cited_by(self, paper: int) -> set[int]:
        first, last = np.searchsorted(self._cites, [paper << 32, (paper + 1) << 32])
        return set((self._cites[first:last] & 0xFFFFFFFF).tolist())


class UncitedPool(NegativePools):
    """The negatives of papers as queries: all that they do not cite. Their positives are what any of their paragraphs cites."""

    def relevant(self, query: int) -> list[int]:
        citing = int(self._citing[query])
        if citing < 0:
            return super().relevant(query)
        return sorted(paper for paper in self._paragraphs[citing] if self._visible(paper, query))

    def pools_of(self, query: int) -> list[list[int]]:
        return [[], [], []]

    def _excluded(self, query: int) -> set[int]:
        return {*super()._excluded(query), *self._cited_by(int(self._citing[query]))}


def _some(pool: Sequence[int], size: int, random: np.random.Generator) -> list[int]:
    sample = random.permutation(len(pool))[:size]
    return [pool[at] for at in sample.tolist()]


class Training:
    """Samples queries with positives and negatives, and measures on dev."""

    def __init__(self, arrays: Arrays, base: Path, numbers: Hyperparameters, inputs: Inputs, device: torch.device) -> None:
        for what, given, known in (
            ("loss", numbers.loss, LOSSES),
            ("pooling", numbers.pooling, POOLING),
            ("kind of queries", numbers.queries_are, QUERIES),
        ):
            if given not in known:
                raise CitewellError(f"there is no {what} {given!r}; there are {', '.join(known)}")
        settings = encoder.Hyperparameters(dropout=numbers.dropout, seed=numbers.seed, dev_sample=numbers.dev_sample)
        self.encoder = encoder.Training(arrays, base, settings, inputs, device, POOLING[numbers.pooling])
        self.arrays, self.numbers, self.model = arrays, numbers, self.encoder.model
        self.pools: NegativePools = (NegativePools if self._paragraphs else UncitedPool)(arrays)
        self.best = BestWeights(self.model)
        self._random = np.random.default_rng(numbers.seed)
        needed = 2 if numbers.loss == "quadruplet" else 1
        paragraph = TASKS.index("paragraph")
        groups = [group.queries for group in self.encoder.groups if group.task == paragraph and not group.sentences]
        queries = torch.cat(groups).tolist() if groups else []
        if not self._paragraphs:  # one query for each paper
            citing = arrays["question_citing"]
            queries = list({int(citing[query]) if citing[query] >= 0 else ~query: query for query in queries}.values())
        self.queries = [query for query in queries if len(self.pools.relevant(query)) >= needed]
        if not self.queries:
            raise CitewellError(f"the sets have no paragraph of the train years that cites {needed} papers; name others")
        for layer in (self.model.embeddings, *self.model.layers[: len(self.model.layers) - numbers.layers]):
            layer.requires_grad_(False)

    @property
    def _paragraphs(self) -> bool:
        return self.numbers.queries_are == "paragraphs"

    @property
    def steps(self) -> int:
        return max(1, round(self.numbers.epochs * len(self.queries) / self.numbers.queries))

    def state(self) -> dict[str, Any]:
        """What further samples depend on, apart from torch's random numbers."""
        return {"random": self._random.bit_generator.state, "best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state = state["random"]
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """The loss of one batch."""
        queries, positives, negatives = self.sample()
        papers = torch.cat([positives, negatives], dim=1)
        years = self.encoder.pack_queries.year[queries].repeat_interleave(papers.shape[1])
        query = self.encoder.encode(self.encoder.texts.queries(queries, self._paragraphs))[:, None]
        vectors = self.encoder.encode(self.encoder.texts.papers(papers.flatten(), years)).view(*papers.shape, -1)
        first, others = vectors[:, :1], vectors[:, positives.shape[1] :]
        margin = self.numbers.margin
        if self.numbers.loss == "triplet":
            return triplet(query, first, others, margin).mean()
        return quadruplet(query, first, vectors[:, 1:2], others, margin).mean()

    def sample(self) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, the positives of each (one for triplets, two for quadruplets), and the negatives."""
        size = min(self.numbers.queries, len(self.queries))
        chosen = [self.queries[at] for at in self._random.choice(len(self.queries), size, replace=False).tolist()]
        count = 2 if self.numbers.loss == "quadruplet" else 1
        negatives = [self.pools.draw(query, self.numbers.negatives, self._random) for query in chosen]
        usable = [at for at, papers in enumerate(negatives) if papers]
        if not usable:
            raise CitewellError("no query has a negative to learn from; name sets with more papers")
        positives = [_some(self.pools.relevant(chosen[at]), count, self._random) for at in usable]
        parts = ([chosen[at] for at in usable], positives, [negatives[at] for at in usable])
        queries, relevant_papers, others = (torch.tensor(part, device=self.encoder.device) for part in parts)
        return queries, relevant_papers, others

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10, R-precision and RR of the dev paragraphs; the weights with the best R-precision are kept."""
        encoder = self.encoder
        figures: dict[str, float] = {}
        for group in encoder.pack_queries.groups("dev"):
            if group.task == TASKS.index("paragraph"):
                pool = encoder.pack_queries.pool(group.set, group.sentences)
                vectors = encoder.paper_vectors(pool, int(self.arrays["train_until"][group.set]) + 1)
                queries = group.queries[: self.numbers.dev_sample]
                ranked = torch.cat(list(encoder.pack_queries.top_papers(queries, pool, vectors, encoder.query_vectors, 100)))
                name = group.name(self.arrays)
                figures |= {
                    f"{name} {key}": value for key, value in ranking_measures(encoder.pack_queries, queries, ranked).items()
                }
        precisions = [value for key, value in figures.items() if key.endswith(" Rprec")]
        return figures | self.best.update(sum(precisions) / len(precisions) if precisions else 0.0)


def fit(pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", progress: Progress = SILENT) -> Bert:
    """Tune an encoder on the paragraphs of a pack; resumes from the last checkpoint."""
    chosen = choose_device(device)
    numbers, inputs = parse_section(Hyperparameters, recipe, "numbers"), Inputs(**recipe.get("inputs", {}))
    training = Training(load(pack), base, numbers, inputs, chosen)
    tuned = [weight for weight in training.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(tuned, numbers.rate, weight_decay=numbers.decay)
    checkpoint = Checkpoint(out / CHECKPOINT, training_fingerprint(recipe, [pack, base / WEIGHTS], chosen), chosen)
    steps = Steps(training.model, optimizer, training, out, checkpoint, progress)
    steps.run(
        *(training.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every),
        clip=1.0,
    )
    training.best.load_best()
    write_bert(training.model, out)
    if numbers.pooling == "first token":
        (out / weights.POOLING).parent.mkdir(exist_ok=True)
        (out / weights.POOLING).write_text(json.dumps({"pooling_mode_cls_token": True}) + "\n", encoding="utf-8")
    write_record(out, inputs, recipe, training.arrays, base)
    return training.model


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), load_recipe(sys.argv[3]), Path(sys.argv[4]))
