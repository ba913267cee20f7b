"""The paragraph model of Medić's thesis: an encoder tuned so that a topic sentence is near to what its paragraph cites.

A triplet is a question, a paper that answers it and one that does not. A quadruplet has two papers that answer it: both must be
nearer to the question than the wrong one, and nearer to each other than to the wrong one, each by a margin. Wrong papers come
from three pools: what the citing paper cites in other paragraphs, what it cites elsewhere, and what the papers cite that its
paragraphs cite. Only the last layers are tuned. ``python -m citewell.train.paragraph PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

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
from citewell.models.inputs import Inputs
from citewell.train import encoder
from citewell.train.bert import WEIGHTS, Bert, write_bert
from citewell.train.card import write_about
from citewell.train.checkpoint import Checkpoint, fingerprint
from citewell.train.checkpoints import Best
from citewell.train.encoder import CHECKPOINT, device_called, numbers_of
from citewell.train.lists import measured
from citewell.train.monitoring import Watcher
from citewell.train.packs import TASKS, Arrays, load
from citewell.train.recipe_files import content
from citewell.train.steps import Steps

LOSSES = ("triplet", "quadruplet")
export = encoder.export


@dataclass(frozen=True)
class Numbers:
    """The numbers of a recipe."""

    loss: str = "quadruplet"
    epochs: float = 5.0
    questions: int = 16
    """Questions a step."""
    wrong: tuple[int, ...] = (4, 3, 3)
    """Wrong papers a question of each pool."""
    margin: float = 0.2
    layers: int = 2
    """So many of the last layers are tuned."""
    rate: float = 2e-5
    warmup: float = 0.05
    decay: float = 0.01
    dropout: float = 0.1
    dev_every: int = 500
    dev_sample: int = 1000
    seed: int = 1


SECTIONS = {"numbers": Numbers}
"""What a recipe gives."""


def triplet(query: Tensor, right: Tensor, wrong: Tensor, margin: float) -> Tensor:
    """Vectors (questions, 1 or papers, numbers): the right paper nearer than each wrong one; a loss for each of these."""
    return functional.relu(_distance(query, right) - _distance(query, wrong) + margin)


def quadruplet(query: Tensor, one: Tensor, other: Tensor, wrong: Tensor, margin: float) -> Tensor:
    """Both right papers nearer to the question, and to each other, than each wrong one is."""
    to_query = triplet(query, one, wrong, margin) + triplet(query, other, wrong, margin)
    to_each_other = triplet(one, other, wrong, margin) + triplet(other, one, wrong, margin)
    return to_query + to_each_other


def _distance(some: Tensor, others: Tensor) -> Tensor:
    # At distance 0 the root has no slope.
    return ((some - others) ** 2).sum(-1).clamp(min=1e-12).sqrt()


class Pools:
    """Where the wrong papers of paragraph questions come from."""

    def __init__(self, arrays: Arrays) -> None:
        self._date, self._set = arrays["paper_date"], arrays["paper_set"]
        self._asked_at, self._question_set = arrays["question_date"], arrays["question_set"]
        self._citing = arrays["question_citing"]
        self._wanted, self._wanted_at = arrays["question_wanted"], arrays["question_wanted_at"]
        self._cites = arrays["cites"]
        self._papers = {
            place: np.flatnonzero((self._set == place) & (arrays["paper_sentence"] == 0)) for place in set(self._set.tolist())
        }
        self._paragraphs: dict[int, set[int]] = {}
        for question in np.flatnonzero(arrays["question_task"] == TASKS.index("paragraph")).tolist():
            self._paragraphs.setdefault(int(self._citing[question]), set()).update(self.wanted(question))

    def wanted(self, question: int) -> list[int]:
        found: list[int] = self._wanted[self._wanted_at[question] : self._wanted_at[question + 1]].tolist()
        return found

    def of(self, question: int) -> list[list[int]]:
        """The three pools of a question, each ascending, none from its future."""
        citing, right = int(self._citing[question]), set(self.wanted(question))
        others = self._paragraphs[citing] - right if citing >= 0 else set()
        cited = self._cited_by(citing) if citing >= 0 else set()
        year = int(self._asked_at[question]) // 10_000
        earlier = [paper for paper in others | right if 0 < self._date[paper] // 10_000 < year]
        further = {paper for start in earlier for paper in self._cited_by(start)}
        pools = (others, cited - others - right, further - cited - others - right)
        return [sorted(paper for paper in pool if self._there(paper, question) and paper != citing) for pool in pools]

    def draw(self, question: int, sizes: Sequence[int], random: np.random.Generator) -> list[int]:
        """Wrong papers of each pool, and any others that the question may see in place of those that a pool lacks."""
        pools = self.of(question)
        found = [paper for pool, size in zip(pools, sizes, strict=True) for paper in _some(pool, size, random)]
        known = {*found, *self.wanted(question), int(self._citing[question])}
        everything = self._papers[int(self._question_set[question])]
        for _ in range(100 * sum(sizes)):
            if len(found) == sum(sizes):
                break
            paper = int(everything[random.integers(len(everything))])
            if paper not in known and self._there(paper, question):
                found.append(paper)
                known.add(paper)
        # Where a set has hardly any earlier papers, some come twice.
        return [found[at % len(found)] for at in range(sum(sizes))] if found else []

    def _there(self, paper: int, question: int) -> bool:
        return bool(0 < self._date[paper] <= self._asked_at[question])

    def _cited_by(self, paper: int) -> set[int]:
        first, last = np.searchsorted(self._cites, [paper << 32, (paper + 1) << 32])
        return set((self._cites[first:last] & 0xFFFFFFFF).tolist())


def _some(pool: Sequence[int], size: int, random: np.random.Generator) -> list[int]:
    drawn = random.permutation(len(pool))[:size]
    return [pool[at] for at in drawn.tolist()]


class Training:
    """Draws questions with right and wrong papers, and measures on dev."""

    def __init__(self, arrays: Arrays, base: Path, numbers: Numbers, inputs: Inputs, device: torch.device) -> None:
        if numbers.loss not in LOSSES:
            raise CitewellError(f"there is no loss {numbers.loss!r} here; there are {', '.join(LOSSES)}")
        bare = encoder.Numbers(dropout=numbers.dropout, seed=numbers.seed, dev_sample=numbers.dev_sample)
        self.whole = encoder.Training(arrays, base, bare, inputs, device)
        self.arrays, self.numbers, self.model = arrays, numbers, self.whole.model
        self.pools, self.best = Pools(arrays), Best(self.model)
        self._random = np.random.default_rng(numbers.seed)
        needed = 2 if numbers.loss == "quadruplet" else 1
        paragraph = TASKS.index("paragraph")
        groups = [group.questions for group in self.whole.groups if group.task == paragraph and not group.sentences]
        questions = torch.cat(groups).tolist() if groups else []
        self.questions = [question for question in questions if len(self.pools.wanted(question)) >= needed]
        if not self.questions:
            raise CitewellError(f"the sets have no paragraph of the train years that cites {needed} papers; name others")
        for layer in (self.model.embeddings, *self.model.layers[: len(self.model.layers) - numbers.layers]):
            layer.requires_grad_(False)

    @property
    def steps(self) -> int:
        return max(1, round(self.numbers.epochs * len(self.questions) / self.numbers.questions))

    def state(self) -> dict[str, Any]:
        """What further draws depend on, but for torch's own random numbers."""
        return {"random": self._random.bit_generator.state, "best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state = state["random"]
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """Of one batch."""
        questions, right, wrong = self.drawn()
        papers = torch.cat([right, wrong], dim=1)
        years = self.whole.asking.year[questions].repeat_interleave(papers.shape[1])
        query = self.whole.encode(self.whole.texts.questions(questions))[:, None]
        vectors = self.whole.encode(self.whole.texts.papers(papers.flatten(), years)).view(*papers.shape, -1)
        first, others = vectors[:, :1], vectors[:, right.shape[1] :]
        margin = self.numbers.margin
        if self.numbers.loss == "triplet":
            return triplet(query, first, others, margin).mean()
        return quadruplet(query, first, vectors[:, 1:2], others, margin).mean()

    def drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        """Questions, the right papers of each (one of a triplet, two of a quadruplet), and the wrong ones."""
        size = min(self.numbers.questions, len(self.questions))
        chosen = [self.questions[at] for at in self._random.choice(len(self.questions), size, replace=False).tolist()]
        each = 2 if self.numbers.loss == "quadruplet" else 1
        wrong = [self.pools.draw(question, self.numbers.wrong, self._random) for question in chosen]
        kept = [at for at, papers in enumerate(wrong) if papers]
        if not kept:
            raise CitewellError("no question has a wrong paper to learn from; name sets with more papers")
        right = [_some(self.pools.wanted(chosen[at]), each, self._random) for at in kept]
        made = ([chosen[at] for at in kept], right, [wrong[at] for at in kept])
        questions, answers, others = (torch.tensor(part, device=self.whole.device) for part in made)
        return questions, answers, others

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10, R-precision and RR of the paragraphs of dev; the weights with the best R-precision are kept."""
        whole = self.whole
        found: dict[str, float] = {}
        for group in whole.asking.groups("dev"):
            if group.task == TASKS.index("paragraph"):
                pool = whole.asking.pool(group.set, group.sentences)
                vectors = whole.paper_vectors(pool, int(self.arrays["train_until"][group.set]) + 1)
                questions = group.questions[: self.numbers.dev_sample]
                best = torch.cat(list(whole.asking.best(questions, pool, vectors, whole.question_vectors, 100)))
                name = group.name(self.arrays)
                found |= {f"{name} {key}": value for key, value in measured(whole.asking, questions, best).items()}
        precisions = [value for key, value in found.items() if key.endswith(" Rprec")]
        self.best.offer(sum(precisions) / len(precisions) if precisions else 0.0)
        return found


def fit(pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", watcher: Watcher | None = None) -> Bert:
    """Tune an encoder on the paragraphs of a pack; killed, it goes on from its last checkpoint."""
    chosen = device_called(device)
    numbers, inputs = numbers_of(Numbers, recipe, "numbers"), Inputs(**recipe.get("inputs", {}))
    training = Training(load(pack), base, numbers, inputs, chosen)
    tuned = [weight for weight in training.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(tuned, numbers.rate, weight_decay=numbers.decay)
    checkpoint = Checkpoint(out / CHECKPOINT, fingerprint(recipe, [pack, base / WEIGHTS], chosen), chosen)
    steps = Steps(training.model, optimizer, training, out, checkpoint, watcher)
    steps.run(
        *(training.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every),
        clip=1.0,
    )
    training.best.take()
    write_bert(training.model, out)
    write_about(out, inputs, recipe, training.arrays, base)
    return training.model


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), content(Path(sys.argv[3])), Path(sys.argv[4]))
