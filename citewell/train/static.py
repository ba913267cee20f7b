"""The static encoder: one vector a token, a text being their sum, weighted as `citewell.models.static` says.

A word of several tokens, as many a gene or a method is, has a vector of its own besides theirs: those that its hash falls to.
A token has a weight of its own in queries: what says much of a paper may say little of what is asked for. It all starts from
what the encoder makes of each token alone, brought to fewer dimensions, and is learned from the same pairs and from how the
encoder, which reads every question once, scores the papers of each batch. What the parts of a text count is a choice, not
learned. Only numpy and torch are needed:
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

from citewell.models.inputs import FILE as BUDGETS
from citewell.models.inputs import Inputs
from citewell.models.static import FACTOR, HASHED, KINDS, LONGEST, continuing
from citewell.models.static import FILE as SERVED
from citewell.train import losses
from citewell.train.batches import CLS, MASK, SEP, Texts, Tokens
from citewell.train.bert import WEIGHTS
from citewell.train.card import RECIPE, TOKENIZER, write_about, write_card
from citewell.train.checkpoint import Checkpoint, fingerprint
from citewell.train.encoder import CHECKPOINT, Numbers, Reading, Training, device_called, numbers_of
from citewell.train.monitoring import Watcher
from citewell.train.packs import load
from citewell.train.recipe_files import content
from citewell.train.steps import Steps

TABLE = "weights.npz"


@dataclass(frozen=True)
class StaticNumbers:
    """The numbers of a recipe beyond those of batches and rates."""

    dimensions: int = 256
    teacher: float = 1.0
    """How much the encoder's scores count beside the pairs."""
    reach: float = 12.0
    """At so many tokens from the gap what a token counts has fallen to about a third of the way to `far`."""
    far: float = 0.15
    """What the furthest count."""
    asked: tuple[float, ...] = (1.0, 0.2, 0.2)
    """What the parts of a query count: what is asked, the citing title, the citing abstract. Chosen on dev, like those of
    papers: learned with the table they lean on abstracts, which are the same in every batch, and find .05 less."""
    papers: tuple[float, ...] = (1.0, 1.5, 1.0)
    """What those of a paper count: its title, its contexts, its abstract."""
    paper: int = 1200
    """Tokens of a paper: more than the encoder reads, since here they cost nothing."""
    contexts: int = 30
    """How many contexts of a paper, likewise."""
    words: int = 0
    """How many vectors the words of several tokens share."""
    unread: float = 0.0
    """So many of the tokens are left out by chance while it learns."""


SECTIONS = {"numbers": Numbers, "static": StaticNumbers}
"""What a recipe gives."""


class Static(nn.Module):
    """Token numbers to vectors of texts."""

    def __init__(self, table: Tensor, continues: Tensor, words: int, numbers: StaticNumbers) -> None:
        super().__init__()
        self._unread, self._words = numbers.unread, words
        self._continues = continues
        self.table = nn.Parameter(table)
        self.log_asked = nn.Parameter(torch.zeros(len(table)))
        """How much more a token counts in a query than in a paper."""
        self.near: Tensor
        self.kinds: Tensor
        self.register_buffer("near", torch.tensor([[numbers.reach, numbers.far]] * 2))
        self.register_buffer("kinds", torch.tensor([numbers.asked, numbers.papers]))

    def papers(self, tokens: Tokens) -> Tensor:
        places, distances = _parts(tokens)
        kinds = torch.where(distances >= 0, 1, torch.where(places == 0, 0, 2))
        return self._summed(tokens, self._weights(tokens, distances, kinds, 1), asked=False)

    def questions(self, tokens: Tokens) -> Tensor:
        places, distances = _parts(tokens)
        return self._summed(tokens, self._weights(tokens, distances, places.clamp(max=KINDS - 1), 0), asked=True)

    def _weights(self, tokens: Tokens, distances: Tensor, kinds: Tensor, side: int) -> Tensor:
        reach, far = self.near[side]
        near = torch.where(distances >= 0, far + (1 - far) * torch.exp(-distances / reach), 1.0) * _counted(tokens)
        held = torch.zeros(len(kinds), KINDS, device=near.device).scatter_add(1, kinds, near)
        return near * (self.kinds[side] / held.clamp(min=1e-9).sqrt()).gather(1, kinds)

    def _summed(self, tokens: Tokens, weights: Tensor, asked: bool) -> Tensor:
        rows, counted = tokens.ids, _counted(tokens)
        if self._words:
            words, whole = self._whole_words(tokens)
            rows, counted, weights = torch.cat([rows, words], 1), torch.cat([counted, whole], 1), weights.repeat(1, 2)
        if self.training and self._unread:
            counted = counted & (torch.rand(counted.shape, device=counted.device) >= self._unread)
        starts = counted.sum(1).cumsum(0).roll(1)
        starts[0] = 0
        chosen, weights = rows[counted], weights[counted]
        if asked:
            weights = weights * self.log_asked.exp()[chosen]
        sums = functional.embedding_bag(chosen, self.table, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(sums, dim=1)

    def _whole_words(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """As `citewell.models.static.whole_words`: the row of the word that each token ends, and whether it ends one."""
        ids, continues = tokens.ids, self._continues[tokens.ids] & tokens.mask
        hashes = ids
        for _ in range(LONGEST):
            before = functional.pad(hashes[:, :-1], (1, 0))
            hashes = torch.where(continues, (before * FACTOR + ids) & HASHED, ids)
        ends = continues & ~functional.pad(continues[:, 1:], (0, 1))
        return len(self._continues) + hashes % self._words, ends


def _counted(tokens: Tokens) -> Tensor:
    """Which tokens say something."""
    return tokens.mask & (tokens.ids != CLS) & (tokens.ids != SEP)


def _parts(tokens: Tokens) -> tuple[Tensor, Tensor]:
    """The how-manieth part of its text each token stands in, and how far from the first gap of it; -1 where it has none."""
    ends = (tokens.ids == SEP).long()
    places = ends.cumsum(1) - ends
    columns = torch.arange(ends.shape[1], device=ends.device).expand(ends.shape)
    gaps = torch.where(tokens.ids == MASK, columns, ends.shape[1])
    first = torch.full_like(ends, ends.shape[1]).scatter_reduce(1, places, gaps, "amin").gather(1, places)
    return places, torch.where(first < ends.shape[1], (columns - first).abs(), -1)


@torch.no_grad()
def first_table(teacher: Training, dimensions: int) -> Tensor:
    """What the encoder makes of each token alone, in its main directions, rare tokens longer than frequent ones."""
    teacher.model.eval()
    ids = torch.arange(teacher.model.config["vocab_size"], device=teacher.device)
    parts = []
    for some in ids.split(4096):
        text = torch.stack([torch.full_like(some, CLS), some, torch.full_like(some, SEP)], dim=1)
        parts.append(teacher.encode(Tokens(text, torch.ones_like(text, dtype=torch.bool))))
    vectors = torch.cat(parts)
    vectors = vectors - vectors.mean(0)
    _, _, axes = torch.linalg.svd(vectors, full_matrices=False)
    times = torch.bincount(torch.from_numpy(teacher.arrays["tokens"].astype(np.int64)), minlength=len(ids)).to(vectors.device)
    share = times / times.sum()
    return vectors @ axes[:dimensions].T * (1e-4 / (1e-4 + share))[:, None]


class Distillation:
    """A static encoder, and the encoder that draws its batches and scores them."""

    def __init__(self, teacher: Training, inputs: Inputs, numbers: StaticNumbers, continues: npt.NDArray[np.bool_]) -> None:
        self.teacher, self._share = teacher, numbers.teacher
        self.texts = Texts(teacher.arrays, inputs, teacher.device)
        table = first_table(teacher, numbers.dimensions)
        words = torch.randn(numbers.words, table.shape[1], device=table.device) * table.std() / 4
        flags = torch.from_numpy(continues).to(teacher.device)
        self.model = Static(torch.cat([table, words]), flags, numbers.words, numbers).to(teacher.device)

    def loss(self) -> Tensor:
        """Of one batch: the right papers, and the teacher's scores."""
        teacher, temperature = self.teacher, self.teacher.numbers.temperature
        batch = teacher.drawn_batch()
        scores = self.model.questions(self.texts.questions(batch.questions)) @ self.model.papers(batch.papers_of(self.texts)).T
        loss = losses.in_batch_softmax(scores, batch.right, batch.hidden, temperature)
        if not self._share:
            return loss
        with torch.no_grad():
            teacher.model.eval()
            # What is said of a paper must not hold the very question: it is read as of the question's year, anew each time.
            wanted = self._asked[batch.questions] @ teacher.encode(batch.papers_of(teacher.texts)).T
        return loss + self._share * losses.likeness(scores, wanted, temperature)

    @cached_property
    def _asked(self) -> Tensor:
        """The teacher's vectors of all questions."""
        return self.teacher.question_vectors(torch.arange(len(self.teacher.asking.year), device=self.teacher.device))

    def dev(self) -> dict[str, float]:
        self.model.eval()
        return self.teacher.dev(Reading(self.texts, self.model.questions, self.model.papers))


def fit(
    pack: Path, encoder: Path, recipe: Mapping[str, Any], out: Path, device: str = "", watcher: Watcher | None = None
) -> Static:
    """Train a static encoder from a pack and the encoder that it learns from."""
    chosen = device_called(device)
    numbers = replace(numbers_of(Numbers, recipe, "numbers"), mine_at=())
    read = Inputs.read(encoder) or Inputs()
    own = numbers_of(StaticNumbers, recipe, "static")
    inputs = replace(read, paper=own.paper, contexts=own.contexts)
    teacher = Training(load(pack), encoder, numbers, read, chosen)
    learning = Distillation(teacher, inputs, own, continuing(encoder / TOKENIZER, teacher.model.config["vocab_size"]))
    optimizer = torch.optim.Adam(learning.model.parameters(), numbers.rate)
    checkpoint = Checkpoint(out / CHECKPOINT, fingerprint(recipe, [pack, encoder / WEIGHTS], chosen), chosen)
    steps = Steps(learning.model, optimizer, teacher, out, checkpoint, watcher)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, learning.loss, learning.dev, numbers.dev_every)
    model = learning.model
    parts = {"table": model.table, "asked": model.log_asked.exp(), "near": model.near, "kinds": model.kinds}
    np.savez(out / TABLE, **{name: part.detach().float().cpu().numpy().astype(np.float16) for name, part in parts.items()})
    write_about(out, inputs, recipe, teacher.arrays, encoder)
    return learning.model


def export(weights: Path, target: Path) -> None:
    """The served form: a table of int8 with a scale for each token, budgets, tokeniser and card."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (BUDGETS, TOKENIZER):
        shutil.copyfile(weights / name, target / name)
    write_card(weights, target, "a static encoder of queries and papers: a vector for each token, int8")
    recipe = json.loads((weights / RECIPE).read_text("utf-8"))
    words = np.int64(numbers_of(StaticNumbers, recipe, "static").words)
    with np.load(weights / TABLE) as found:
        table, asked, near, kinds = (found[name].astype(np.float32) for name in ("table", "asked", "near", "kinds"))
    scales = np.abs(table).max(axis=1) / 127
    codes = np.rint(table / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    part = target / f"part-of-{SERVED}"
    np.savez_compressed(part, codes=codes, scales=scales, asked=asked, near=near, kinds=kinds, words=words)
    part.rename(target / SERVED)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), content(Path(sys.argv[3])), Path(sys.argv[4]))
