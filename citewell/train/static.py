"""Trains the static encoder: one vector per token, and a text is their weighted sum (`citewell.models.static`).

A word of several tokens, such as many names of genes and methods, has an additional vector, shared by hash. A token has an
additional weight in queries: it may say much about a paper and little about what is sought. The table starts as the encoder's
vectors of single tokens, reduced in dimension, and is trained on the same pairs and on the encoder's scores of each batch. The
weights of the parts of a text are settings, not learned. Needs only numpy and torch:
``python -m citewell.train.static PACK ENCODER RECIPE OUT``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from citewell.files import replaced
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.inputs import Inputs
from citewell.models.special_tokens import SpecialTokens
from citewell.models.static import FACTOR, HASH_MASK, KINDS, MAX_WORD_TOKENS, continuation_tokens
from citewell.models.static import FILE as SERVED
from citewell.progress import SILENT, Progress
from citewell.train import losses
from citewell.train.batches import Texts, Tokens
from citewell.train.bert import WEIGHTS
from citewell.train.card import RECIPE, TOKENIZER, write_card, write_record
from citewell.train.checkpoints import Checkpoint, training_fingerprint
from citewell.train.encoder import CHECKPOINT, Hyperparameters, TextEncoders, Training, choose_device, parse_section
from citewell.train.packs import load
from citewell.train.recipe_files import load as load_recipe
from citewell.train.steps import Steps

TABLE = "weights.npz"


@dataclass(frozen=True)
class StaticHyperparameters:
    """The settings of a recipe beyond batches and learning rates."""

    dimensions: int = 256
    teacher: float = 1.0
    """The weight of the encoder's scores in the loss."""
    reach: float = 12.0
    """The distance from the gap, in tokens, at which the weight of a token has fallen about two thirds of the way to `far`."""
    far: float = 0.15
    """The weight of the most distant tokens."""
    query_weights: tuple[float, ...] = (1.0, 0.2, 0.2)
    """The weights of the parts of a query: context, citing title, citing abstract.

    Chosen on dev, like those of papers: learned with the table, they favour abstracts, which are the same in every batch, and
    lose .05 of recall.
    """
    paper_weights: tuple[float, ...] = (1.0, 1.5, 1.0)
    """The weights of the parts of a paper: title, contexts, abstract."""
    paper: int = 1200
    """Tokens of a paper: more than the encoder reads, since they cost nothing here."""
    contexts: int = 30
    """Contexts of a paper, likewise."""
    words: int = 0
    """The number of vectors that words of several tokens share."""
    token_dropout: float = 0.0
    """The share of tokens dropped during training."""


SECTIONS = {"numbers": Hyperparameters, "static": StaticHyperparameters}
"""The sections of a recipe."""


class Static(nn.Module):
    """Token ids to text vectors."""

    def __init__(
        self, table: Tensor, continues: Tensor, words: int, numbers: StaticHyperparameters, special: SpecialTokens
    ) -> None:
        super().__init__()
        self._special = special
        self._token_dropout, self._words = numbers.token_dropout, words
        self._continues = continues
        self.table = nn.Parameter(table)
        self.log_query_weights = nn.Parameter(torch.zeros(len(table)))
        """The logarithm of each token's additional weight in queries."""
        self.near: Tensor
        self.kinds: Tensor
        self.register_buffer("near", torch.tensor([[numbers.reach, numbers.far]] * 2))
        self.register_buffer("kinds", torch.tensor([numbers.query_weights, numbers.paper_weights]))

    def papers(self, tokens: Tokens) -> Tensor:
        places, distances = _parts(tokens, self._special)
        kinds = torch.where(distances >= 0, 1, torch.where(places == 0, 0, 2))
        return self._sum_vectors(tokens, self._weights(tokens, distances, kinds, 1), as_query=False)

    def queries(self, tokens: Tokens) -> Tensor:
        places, distances = _parts(tokens, self._special)
        return self._sum_vectors(tokens, self._weights(tokens, distances, places.clamp(max=KINDS - 1), 0), as_query=True)

    def _weights(self, tokens: Tokens, distances: Tensor, kinds: Tensor, side: int) -> Tensor:
        reach, far = self.near[side]
        near = torch.where(distances >= 0, far + (1 - far) * torch.exp(-distances / reach), 1.0)
        near = near * _content_tokens(tokens, self._special)
        totals = torch.zeros(len(kinds), KINDS, device=near.device).scatter_add(1, kinds, near)
        return near * (self.kinds[side] / totals.clamp(min=1e-9).sqrt()).gather(1, kinds)

    def _sum_vectors(self, tokens: Tokens, weights: Tensor, as_query: bool) -> Tensor:
        rows, counted = tokens.ids, _content_tokens(tokens, self._special)
        if self._words:
            words, whole = self._whole_words(tokens)
            rows, counted, weights = torch.cat([rows, words], 1), torch.cat([counted, whole], 1), weights.repeat(1, 2)
        if self.training and self._token_dropout:
            counted = counted & (torch.rand(counted.shape, device=counted.device) >= self._token_dropout)
        starts = counted.sum(1).cumsum(0).roll(1)
        starts[0] = 0
        chosen, weights = rows[counted], weights[counted]
        if as_query:
            weights = weights * self.log_query_weights.exp()[chosen]
        sums = functional.embedding_bag(chosen, self.table, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(sums, dim=1)

    def _whole_words(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """As `citewell.models.static.whole_words`: the row of the word that each token ends, and whether it ends one."""
        ids, continues = tokens.ids, self._continues[tokens.ids] & tokens.mask
        hashes = ids
        for _ in range(MAX_WORD_TOKENS):
            before = functional.pad(hashes[:, :-1], (1, 0))
            hashes = torch.where(continues, (before * FACTOR + ids) & HASH_MASK, ids)
        ends = continues & ~functional.pad(continues[:, 1:], (0, 1))
        return len(self._continues) + hashes % self._words, ends


def _content_tokens(tokens: Tokens, special: SpecialTokens) -> Tensor:
    """Tokens other than separators and padding."""
    return tokens.mask & (tokens.ids != special.cls) & (tokens.ids != special.sep)


def _parts(tokens: Tokens, special: SpecialTokens) -> tuple[Tensor, Tensor]:
    """The number of the part that each token is in, and its distance from the first gap of that part; -1 if it has none."""
    ends = (tokens.ids == special.sep).long()
    places = ends.cumsum(1) - ends
    columns = torch.arange(ends.shape[1], device=ends.device).expand(ends.shape)
    gaps = torch.where(tokens.ids == special.mask, columns, ends.shape[1])
    first = torch.full_like(ends, ends.shape[1]).scatter_reduce(1, places, gaps, "amin").gather(1, places)
    return places, torch.where(first < ends.shape[1], (columns - first).abs(), -1)


@torch.no_grad()
def initial_table(teacher: Training, dimensions: int) -> Tensor:
    """The encoder's vectors of single tokens in their main directions; rare tokens are longer than frequent ones."""
    teacher.model.eval()
    ids = torch.arange(teacher.model.config["vocab_size"], device=teacher.device)
    parts = []
    for batch in ids.split(4096):
        special = teacher.texts.special
        text = torch.stack([torch.full_like(batch, special.cls), batch, torch.full_like(batch, special.sep)], dim=1)
        parts.append(teacher.encode(Tokens(text, torch.ones_like(text, dtype=torch.bool))))
    vectors = torch.cat(parts)
    vectors = vectors - vectors.mean(0)
    _, _, axes = torch.linalg.svd(vectors, full_matrices=False)
    times = torch.bincount(torch.from_numpy(teacher.arrays["tokens"].astype(np.int64)), minlength=len(ids)).to(vectors.device)
    share = times / times.sum()
    return vectors @ axes[:dimensions].T * (1e-4 / (1e-4 + share))[:, None]


class Distillation:
    """A static encoder, and the teacher that samples its batches and scores them."""

    def __init__(
        self, teacher: Training, inputs: Inputs, numbers: StaticHyperparameters, continues: npt.NDArray[np.bool_]
    ) -> None:
        self.teacher, self._share = teacher, numbers.teacher
        self.texts = Texts(teacher.arrays, inputs, teacher.device)
        table = initial_table(teacher, numbers.dimensions)
        words = torch.randn(numbers.words, table.shape[1], device=table.device) * table.std() / 4
        flags = torch.from_numpy(continues).to(teacher.device)
        self.model = Static(torch.cat([table, words]), flags, numbers.words, numbers, self.texts.special).to(teacher.device)

    def loss(self) -> Tensor:
        """The loss of one batch: the positives, and the teacher's scores."""
        teacher, temperature = self.teacher, self.teacher.numbers.temperature
        batch = teacher.sample_batch()
        scores = self.model.queries(self.texts.queries(batch.queries)) @ self.model.papers(batch.papers_of(self.texts)).T
        loss = losses.in_batch_softmax(scores, batch.positives, batch.masked, temperature)
        if not self._share:
            return loss
        with torch.no_grad():
            teacher.model.eval()
            # Contexts must not contain the query itself: papers are read as of the query's year, encoded again for each batch.
            teacher_scores = self._query_vectors[batch.queries] @ teacher.encode(batch.papers_of(teacher.texts)).T
        return loss + self._share * losses.distillation(scores, teacher_scores, temperature)

    @cached_property
    def _query_vectors(self) -> Tensor:
        """The teacher's vectors of all queries."""
        return self.teacher.query_vectors(torch.arange(len(self.teacher.pack_queries.year), device=self.teacher.device))

    def dev(self) -> dict[str, float]:
        self.model.eval()
        return self.teacher.dev(TextEncoders(self.texts, self.model.queries, self.model.papers))


def fit(
    pack: Path, encoder: Path, recipe: Mapping[str, Any], out: Path, device: str = "", progress: Progress = SILENT
) -> Static:
    """Train a static encoder from a pack and the encoder that teaches it."""
    chosen = choose_device(device)
    numbers = replace(parse_section(Hyperparameters, recipe, "numbers"), mine_at=())
    read = Inputs.read(encoder) or Inputs()
    own = parse_section(StaticHyperparameters, recipe, "static")
    inputs = replace(read, paper=own.paper, contexts=own.contexts)
    teacher = Training(load(pack), encoder, numbers, read, chosen)
    learning = Distillation(teacher, inputs, own, continuation_tokens(encoder / TOKENIZER, teacher.model.config["vocab_size"]))
    optimizer = torch.optim.Adam(learning.model.parameters(), numbers.rate)
    checkpoint = Checkpoint(out / CHECKPOINT, training_fingerprint(recipe, [pack, encoder / WEIGHTS], chosen), chosen)
    steps = Steps(learning.model, optimizer, teacher, out, checkpoint, progress)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, learning.loss, learning.dev, numbers.dev_every)
    model = learning.model
    parts = {"table": model.table, "asked": model.log_query_weights.exp(), "near": model.near, "kinds": model.kinds}
    np.savez(out / TABLE, **{name: part.detach().float().cpu().numpy().astype(np.float16) for name, part in parts.items()})
    write_record(out, inputs, recipe, teacher.arrays, encoder)
    return learning.model


def export(weights: Path, target: Path) -> None:
    """Write the served model: an int8 table with a scale per token, token budgets, tokeniser and card."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (BUDGETS, TOKENIZER):
        shutil.copyfile(weights / name, target / name)
    write_card(weights, target, "a static encoder of queries and papers: one vector per token, int8")
    recipe = json.loads((weights / RECIPE).read_text("utf-8"))
    words = np.int64(parse_section(StaticHyperparameters, recipe, "static").words)
    with np.load(weights / TABLE) as arrays:
        table, query_weights, near, kinds = (arrays[name].astype(np.float32) for name in ("table", "asked", "near", "kinds"))
    scales = np.abs(table).max(axis=1) / 127
    codes = np.rint(table / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    with replaced(target / SERVED, durable=False) as part, part.open("wb") as stream:
        np.savez_compressed(stream, codes=codes, scales=scales, asked=query_weights, near=near, kinds=kinds, words=words)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), load_recipe(sys.argv[3]), Path(sys.argv[4]))
