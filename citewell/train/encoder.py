"""Trains the encoder: queries and papers to vectors that are close if one cites the other.

The loss is in-batch softmax over queries of one set and task at a time. At the steps that the recipe names, the encoder mines
hard negatives (top-ranked papers that are not relevant), which then join each batch. Needs only numpy and torch:
``python -m citewell.train.encoder PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.inputs import Inputs
from citewell.progress import SILENT, Progress
from citewell.train import losses
from citewell.train.batches import Texts, Tokens
from citewell.train.bert import WEIGHTS, Bert, mean_vector, read_bert, write_bert
from citewell.train.card import TOKENIZER, write_card, write_record
from citewell.train.checkpoints import Checkpoint, training_fingerprint
from citewell.train.pack_queries import Group, PackQueries
from citewell.train.packs import Arrays, load
from citewell.train.recipe_files import load as load_recipe
from citewell.train.steps import Steps

CHECKPOINT = "checkpoint.pt"
_ENCODE_BATCH = 1024
_PARTS = 4
"""A batch is encoded in this many parts of similar length."""

Encode = Callable[[Tokens], Tensor]
Pool = Callable[[Tensor, Tensor], Tensor]
"""The vector of each text, from the vectors and the mask of its tokens."""
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Hyperparameters:
    """The settings of a recipe."""

    steps: int = 2000
    batch: int = 1024
    hard_batch: int = 768
    rate: float = 2e-4
    warmup: float = 0.05
    decay: float = 0.01
    temperature: float = 0.05
    dropout: float = 0.1
    evenness: float = 0.5
    """Sets and tasks are sampled by their number of pairs to this power: 1 proportionally, 0 uniformly."""
    without_contexts: float = 0.25
    """The probability that a paper comes without its cited contexts, as new papers do."""
    mine_at: tuple[int, ...] = (700, 1300)
    """The steps before which hard negatives are mined."""
    mined: int = 48
    mined_from: int = 3
    """Papers at better ranks are skipped: they may be relevant."""
    hard: int = 2
    """Hard negatives per query."""
    mine_limit: int = 120_000
    """The most queries per set and task for which negatives are mined."""
    dev_every: int = 500
    dev_sample: int = 1500
    seed: int = 1


SECTIONS = {"numbers": Hyperparameters}
"""The sections of a recipe."""


class TextEncoders(NamedTuple):
    """Texts, and the encoders of queries and papers."""

    texts: Texts
    queries: Encode
    papers: Encode

    @torch.no_grad()
    def paper_vectors(self, numbers: Tensor, before: int) -> Tensor:
        """The vectors of papers as they were known before a year."""
        batches = numbers.split(_ENCODE_BATCH)
        return torch.cat([self.papers(self.texts.papers(batch, torch.full_like(batch, before))) for batch in batches])

    @torch.no_grad()
    def query_vectors(self, numbers: Tensor) -> Tensor:
        return torch.cat([self.queries(self.texts.queries(each)) for each in numbers.split(_ENCODE_BATCH)])


class Batch(NamedTuple):
    """Queries and papers; the first papers are the positives, in the same order."""

    queries: Tensor
    papers: Tensor
    before: Tensor
    """The year of each paper's query: only earlier contexts may be read."""
    positives: Tensor
    """The position of each query's positive."""
    masked: Tensor
    """Other papers that may be relevant to a query; they are not used as negatives."""

    def papers_of(self, texts: Texts) -> Tokens:
        """The tokens of the papers, with newly sampled contexts."""
        return texts.papers(self.papers, self.before, sampled=True)


class Training:
    """The data and the model of a training: samples batches, mines hard negatives, measures on dev."""

    def __init__(
        self,
        arrays: Arrays,
        base: Path,
        numbers: Hyperparameters,
        inputs: Inputs,
        device: torch.device,
        pool: Pool = mean_vector,
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.numbers, self.arrays, self.device, self._pool = numbers, arrays, device, pool
        self.texts = Texts(arrays, inputs, device)
        self.pack_queries = PackQueries(arrays, device)
        self.groups = self.pack_queries.groups("train")
        if not self.groups:
            raise CitewellError("the sets have no query of the train years; name others")
        self.model = read_bert(base, numbers.dropout).to(device)
        self._bf16 = device.type == "cuda"
        weights = np.array([group.pairs for group in self.groups], float) ** numbers.evenness
        self._probabilities = weights / weights.sum()
        self._random = np.random.default_rng(numbers.seed)
        self._dev_vectors: dict[tuple[int, int], Tensor] = {}
        self._mined: dict[int, tuple[Tensor, Tensor]] = {}
        """For each group, the queries with mined papers, and these papers."""

    def state(self) -> dict[str, Any]:
        """The state that further samples depend on, apart from torch's random numbers."""
        return {"random": self._random.bit_generator.state, "hard": self._mined}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state, self._mined = state["random"], state["hard"]

    # -- batches -------------------------------------------------------------------------------------------------------

    def loss(self) -> Tensor:
        """The loss of one batch."""
        batch = self.sample_batch()
        scores = self.encode(self.texts.queries(batch.queries)) @ self.encode(batch.papers_of(self.texts)).T
        return losses.in_batch_softmax(scores, batch.positives, batch.masked, self.numbers.temperature)

    def sample_batch(self) -> Batch:
        """Queries and papers of one set and task."""
        queries, papers = self._batch(int(self._random.choice(len(self.groups), p=self._probabilities)))
        years = self.pack_queries.year[queries].repeat(len(papers) // len(queries))
        bare = torch.rand(len(papers), device=self.device) < self.numbers.without_contexts
        positives = torch.arange(len(queries), device=self.device)
        masked = self.pack_queries.maybe_relevant(queries, papers) | (papers[positives][:, None] == papers)
        masked[positives, positives] = False
        return Batch(queries, papers, torch.where(bare, 0, years), positives, masked)

    def _batch(self, at: int) -> tuple[Tensor, Tensor]:
        """Queries, then one positive per query, then the hard negatives."""
        group, numbers = self.groups[at], self.numbers
        if at not in self._mined:
            queries = self._sample(group.queries, numbers.batch)
            return queries, self.pack_queries.sample_relevant(queries)
        mined_queries, candidates = self._mined[at]
        places = self._sample(torch.arange(len(mined_queries), device=self.device), numbers.hard_batch)
        queries = mined_queries[places]
        chosen = torch.randint(numbers.mined_from, candidates.shape[1], (len(places), numbers.hard), device=self.device)
        hard = candidates[places].gather(1, chosen)
        return queries, torch.cat([self.pack_queries.sample_relevant(queries), hard.T.flatten()])

    def sample_mined(self) -> tuple[Tensor, Tensor]:
        """The queries of a sampled set and task with their mined papers."""
        if not self._mined:
            raise CitewellError(f"no query has {self.numbers.mined} papers to learn from; lower the recipe's 'mined'")
        while (at := int(self._random.choice(len(self.groups), p=self._probabilities))) not in self._mined:
            pass
        return self._mined[at]

    def _sample(self, values: Tensor, size: int) -> Tensor:
        # No query twice, and at most half of a small group: otherwise its papers are relevant to each other's queries.
        size = min(size, max(1, len(values) // 2))
        return values[torch.randperm(len(values), device=self.device)[:size]]

    # -- vectors -------------------------------------------------------------------------------------------------------

    def encode(self, tokens: Tokens) -> Tensor:
        order, parts = tokens.by_length(_PARTS)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._bf16):
            vectors = torch.cat([self._pool(self.model(part.ids, part.mask), part.mask) for part in parts])
        return vectors[order.argsort()]

    @property
    def encoders(self) -> TextEncoders:
        return TextEncoders(self.texts, self.encode, self.encode)

    def paper_vectors(self, numbers: Tensor, before: int) -> Tensor:
        """The vectors of papers as they were known before a year."""
        self.model.eval()
        return self.encoders.paper_vectors(numbers, before)

    def query_vectors(self, numbers: Tensor) -> Tensor:
        self.model.eval()
        return self.encoders.query_vectors(numbers)

    def dev_vectors(self, place: int, sentences: int, pool: Tensor, before: int) -> Tensor:
        """The vectors of a pool on dev, computed once; only for frozen weights."""
        vectors = self._dev_vectors.get((place, sentences))
        if vectors is None:
            vectors = self._dev_vectors[place, sentences] = self.paper_vectors(pool, before)
        return vectors

    # -- hard negatives ------------------------------------------------------------------------------------------------

    def mine_at(self, step: int) -> dict[str, float]:
        """Mine hard negatives at the steps that the recipe names."""
        return self.mine() if step in self.numbers.mine_at else {}

    @torch.no_grad()
    def mine(self, with_relevant: bool = False) -> dict[str, float]:
        """Retrieve the top papers for the queries of every group with the current vectors, without relevant ones.

        `with_relevant` keeps relevant papers, and only the queries that have some.
        """
        started = time.monotonic()
        vectors_by_year: dict[tuple[int, int, int], Tensor] = {}
        hide = self.pack_queries.ambiguous if with_relevant else self.pack_queries.maybe_relevant
        for at, group in enumerate(self.groups):
            queries = self._sample_group(group)
            years = self.pack_queries.year[queries]
            mined_queries, mined_papers = [], []
            all_papers = self.pack_queries.pool(group.set, group.sentences)
            for year in sorted(set(years.tolist())):
                in_year = queries[years == year]
                pool = all_papers[self.pack_queries.paper_date[all_papers] < (year + 1) * 10_000]
                if len(pool) < self.numbers.mined:
                    continue
                if (group.set, group.sentences, year) not in vectors_by_year:
                    vectors_by_year[group.set, group.sentences, year] = self.paper_vectors(pool, year)
                vectors = vectors_by_year[group.set, group.sentences, year]
                best = torch.cat(
                    list(self.pack_queries.top_papers(in_year, pool, vectors, self.query_vectors, self.numbers.mined, hide))
                )
                enough = (best >= 0).all(1)  # the first years may have fewer papers
                if with_relevant:
                    enough &= self.pack_queries.relevant(in_year, best).any(1)
                mined_queries.append(in_year[enough])
                mined_papers.append(best[enough])
            if sum(map(len, mined_queries)):
                self._mined[at] = torch.cat(mined_queries), torch.cat(mined_papers)
        mined = sum(len(queries) for queries, _ in self._mined.values())
        return {"mined": mined, "took": round(time.monotonic() - started, 1)}

    @property
    def has_mined(self) -> bool:
        return bool(self._mined)

    def _sample_group(self, group: Group) -> Tensor:
        most = self.numbers.mine_limit
        if len(group.queries) <= most:
            return group.queries
        return group.queries[torch.randperm(len(group.queries), device=self.device)[:most]]

    # -- what it is worth ----------------------------------------------------------------------------------------------

    @torch.no_grad()
    def dev(self, encoders: TextEncoders | None = None) -> dict[str, float]:
        """R@10 and RR of every set and task on dev, with the model or with other encoders."""
        self.model.eval()
        encoders = encoders or self.encoders
        figures: dict[str, float] = {}
        for group in self.pack_queries.groups("dev"):
            pool = self.pack_queries.pool(group.set, group.sentences)
            vectors = encoders.paper_vectors(pool, int(self.arrays["train_until"][group.set]) + 1)
            measures = self.pack_queries.measure(group, pool, vectors, encoders.query_vectors, self.numbers.dev_sample)
            name = group.name(self.arrays)
            figures |= {f"{name} {measure}": round(value, 4) for measure, value in measures.items() if measure != "queries"}
        return figures


def fit(pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", progress: Progress = SILENT) -> Bert:
    """Train an encoder from a pack and pretrained weights; resumes from the last checkpoint."""
    chosen = choose_device(device)
    numbers, inputs = parse_section(Hyperparameters, recipe, "numbers"), Inputs(**recipe.get("inputs", {}))
    training = Training(load(pack), base, numbers, inputs, chosen)
    optimizer = torch.optim.AdamW(training.model.parameters(), numbers.rate, weight_decay=numbers.decay)
    checkpoint = Checkpoint(out / CHECKPOINT, training_fingerprint(recipe, [pack, base / WEIGHTS], chosen), chosen)
    steps = Steps(training.model, optimizer, training, out, checkpoint, progress)
    steps.run(
        *(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every),
        before=training.mine_at,
        clip=1.0,
    )
    write_bert(training.model, out)
    write_record(out, inputs, recipe, training.arrays, base)
    return training.model


def parse_section(kind: type[Kind], recipe: Mapping[str, Any], section: str) -> Kind:
    """A section of a recipe as settings."""
    values: Mapping[str, Any] = recipe.get(section, {})
    known = [field.name for field in fields(cast(Any, kind))]
    if unknown := [name for name in values if name not in known]:
        raise CitewellError(f"unknown setting {unknown[0]!r} in [{section}]; use {', '.join(known)}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})


def choose_device(name: str) -> torch.device:
    """The device called `name`; without a name, a GPU if there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise CitewellError("torch finds no GPU here; leave out --device, or use cpu")
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def export(weights: Path, target: Path) -> None:
    """Write the served model: int8 ONNX, token budgets, tokeniser and card."""
    export_onnx(weights, target, "an encoder of queries and papers: texts to vectors, int8 ONNX")


def export_onnx(weights: Path, target: Path, what: str, max_tokens: int | None = None) -> None:
    """Convert weights in Hugging Face's layout to the served form, for at most `max_tokens` tokens."""
    from citewell.models.bert_onnx import convert
    from citewell.models.onnx import by_first_token

    target.mkdir(parents=True, exist_ok=True)
    for name in (BUDGETS, TOKENIZER):
        shutil.copyfile(weights / name, target / name)
    write_card(weights, target, what)
    convert(weights, target / "model.onnx", by_first_token=by_first_token(weights), max_tokens=max_tokens)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), load_recipe(sys.argv[3]), Path(sys.argv[4]))
