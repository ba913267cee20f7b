"""The encoder: question and paper to vectors that are near each other where the one cites the other.

In-batch softmax over questions of one set and task at a time. After the first part of the steps the encoder looks for wrong
papers that it holds to be right, and from then on each question brings some of those along (hard negatives), looked for anew
at the recipe's intervals. Only numpy and torch are needed: ``python -m citewell.train.encoder PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.batches import Texts, Tokens
from citewell.train.bert import WEIGHTS, Bert, mean_vector, read_bert, write_bert
from citewell.train.card import TOKENIZER, write_about, write_card
from citewell.train.checkpoint import Checkpoint, fingerprint
from citewell.train.monitoring import Watcher
from citewell.train.pack_queries import Asking, Group
from citewell.train.packs import Arrays, load
from citewell.train.recipe_files import content
from citewell.train.steps import Steps

CHECKPOINT = "checkpoint.pt"
_ENCODED_AT_ONCE = 1024
_PARTS = 4
"""A batch is encoded in so many parts of texts of about one length."""

Encode = Callable[[Tokens], Tensor]
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Numbers:
    """The numbers of a recipe."""

    steps: int = 2000
    batch: int = 1024
    hard_batch: int = 768
    rate: float = 2e-4
    warmup: float = 0.05
    decay: float = 0.01
    temperature: float = 0.05
    dropout: float = 0.1
    evenness: float = 0.5
    """A set and task is drawn by its number of pairs to this power: 1 as they come, 0 all alike."""
    without_contexts: float = 0.25
    """So often papers come without their cited contexts, as new ones do."""
    mine_at: tuple[int, ...] = (700, 1300)
    """The steps before which hard negatives are looked for."""
    mined: int = 48
    mined_from: int = 3
    """Those at better ranks may well be right."""
    hard: int = 2
    """Hard negatives a question."""
    mine_most: int = 120_000
    """Of a set and task at most so many questions get hard negatives."""
    dev_every: int = 500
    dev_sample: int = 1500
    seed: int = 1


SECTIONS = {"numbers": Numbers}
"""What a recipe gives."""


class Reading(NamedTuple):
    """Texts, and what makes vectors of them."""

    texts: Texts
    questions: Encode
    papers: Encode

    @torch.no_grad()
    def paper_vectors(self, numbers: Tensor, before: int) -> Tensor:
        """Vectors of papers as they stood before a year."""
        some = numbers.split(_ENCODED_AT_ONCE)
        return torch.cat([self.papers(self.texts.papers(each, torch.full_like(each, before))) for each in some])

    @torch.no_grad()
    def question_vectors(self, numbers: Tensor) -> Tensor:
        return torch.cat([self.questions(self.texts.questions(each)) for each in numbers.split(_ENCODED_AT_ONCE)])


class Batch(NamedTuple):
    """Questions, and papers of which the first as many are the right ones, in the same order."""

    questions: Tensor
    papers: Tensor
    before: Tensor
    """The year of each paper's question: only what was said of it earlier may be read."""
    right: Tensor
    """The place of the paper that answers each question."""
    hidden: Tensor
    """Which papers besides the right one may answer which question."""

    def papers_of(self, texts: Texts) -> Tokens:
        """The texts of the papers, with contexts that are drawn anew."""
        return texts.papers(self.papers, self.before, drawn=True)


class Training:
    """What a training draws on: its pack, and a model that looks for hard negatives and is measured on dev."""

    def __init__(self, arrays: Arrays, base: Path, numbers: Numbers, inputs: Inputs, device: torch.device) -> None:
        torch.manual_seed(numbers.seed)
        self.numbers, self.arrays, self.device = numbers, arrays, device
        self.texts = Texts(arrays, inputs, device)
        self.asking = Asking(arrays, self.texts)
        self.groups = self.asking.groups("train")
        if not self.groups:
            raise CitewellError("the sets have no question of the train years; name others")
        self.model = read_bert(base, numbers.dropout).to(device)
        self._bf16 = device.type == "cuda"
        spread = np.array([group.pairs for group in self.groups], float) ** numbers.evenness
        self._shares = spread / spread.sum()
        self._random = np.random.default_rng(numbers.seed)
        self._dev_vectors: dict[tuple[int, int], Tensor] = {}
        self._hard: dict[int, tuple[Tensor, Tensor]] = {}
        """Of a group the questions that have hard negatives, and these."""

    def state(self) -> dict[str, Any]:
        """What further draws depend on, but for torch's own random numbers."""
        return {"random": self._random.bit_generator.state, "hard": self._hard}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._random.bit_generator.state, self._hard = state["random"], state["hard"]

    # -- batches -------------------------------------------------------------------------------------------------------

    def loss(self) -> Tensor:
        """Of one batch."""
        batch = self.drawn_batch()
        scores = self.encode(self.texts.questions(batch.questions)) @ self.encode(batch.papers_of(self.texts)).T
        return losses.in_batch_softmax(scores, batch.right, batch.hidden, self.numbers.temperature)

    def drawn_batch(self) -> Batch:
        """Questions and papers of one set and task."""
        questions, papers = self._batch(int(self._random.choice(len(self.groups), p=self._shares)))
        years = self.asking.year[questions].repeat(len(papers) // len(questions))
        bare = torch.rand(len(papers), device=self.device) < self.numbers.without_contexts
        right = torch.arange(len(questions), device=self.device)
        hidden = self.asking.may_answer(questions, papers) | (papers[right][:, None] == papers)
        hidden[right, right] = False
        return Batch(questions, papers, torch.where(bare, 0, years), right, hidden)

    def _batch(self, at: int) -> tuple[Tensor, Tensor]:
        """Questions, and a right paper for each, then a wrong one for each, and so on."""
        group, numbers = self.groups[at], self.numbers
        if at not in self._hard:
            questions = self._drawn(group.questions, numbers.batch)
            return questions, self.asking.one_answer(questions)
        known, wrong = self._hard[at]
        places = self._drawn(torch.arange(len(known), device=self.device), numbers.hard_batch)
        questions = known[places]
        chosen = torch.randint(numbers.mined_from, wrong.shape[1], (len(places), numbers.hard), device=self.device)
        hard = wrong[places].gather(1, chosen)
        return questions, torch.cat([self.asking.one_answer(questions), hard.T.flatten()])

    def drawn_hard(self) -> tuple[Tensor, Tensor]:
        """The questions of one set and task that have hard negatives, and these; drawn."""
        if not self._hard:
            raise CitewellError(f"no question has {self.numbers.mined} papers to learn from; lower the recipe's 'mined'")
        while (at := int(self._random.choice(len(self.groups), p=self._shares))) not in self._hard:
            pass
        return self._hard[at]

    def _drawn(self, values: Tensor, size: int) -> Tensor:
        # No question twice, and never so much of a small group that its papers answer one another's questions.
        size = min(size, max(1, len(values) // 2))
        return values[torch.randperm(len(values), device=self.device)[:size]]

    # -- vectors -------------------------------------------------------------------------------------------------------

    def encode(self, tokens: Tokens) -> Tensor:
        order, parts = tokens.by_length(_PARTS)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._bf16):
            vectors = torch.cat([mean_vector(self.model(part.ids, part.mask), part.mask) for part in parts])
        return vectors[order.argsort()]

    @property
    def reading(self) -> Reading:
        return Reading(self.texts, self.encode, self.encode)

    def paper_vectors(self, numbers: Tensor, before: int) -> Tensor:
        """Vectors of papers as they stood before a year."""
        self.model.eval()
        return self.reading.paper_vectors(numbers, before)

    def question_vectors(self, numbers: Tensor) -> Tensor:
        self.model.eval()
        return self.reading.question_vectors(numbers)

    def dev_vectors(self, place: int, sentences: int, pool: Tensor, before: int) -> Tensor:
        """Vectors of a pool as dev sees it, made once; for those whose own weights no longer change."""
        known = self._dev_vectors.get((place, sentences))
        if known is None:
            known = self._dev_vectors[place, sentences] = self.paper_vectors(pool, before)
        return known

    # -- hard negatives ------------------------------------------------------------------------------------------------

    def mine_at(self, step: int) -> dict[str, float]:
        """Look for hard negatives where the recipe says so."""
        return self.mine() if step in self.numbers.mine_at else {}

    @torch.no_grad()
    def mine(self, answers: bool = False) -> dict[str, float]:
        """For questions of every group the best papers that do not answer them, by the vectors of the moment.

        `answers`: those that do are among them, and only questions are kept that have some.
        """
        started = time.monotonic()
        known: dict[tuple[int, int, int], Tensor] = {}
        hide = self.asking.beside if answers else self.asking.may_answer
        for at, group in enumerate(self.groups):
            questions = self._drawn_most(group)
            years = self.asking.year[questions]
            kept, found = [], []
            whole = self.asking.pool(group.set, group.sentences)
            for year in sorted(set(years.tolist())):
                some = questions[years == year]
                pool = whole[self.asking.paper_date[whole] < (year + 1) * 10_000]
                if len(pool) < self.numbers.mined:
                    continue
                if (group.set, group.sentences, year) not in known:
                    known[group.set, group.sentences, year] = self.paper_vectors(pool, year)
                vectors = known[group.set, group.sentences, year]
                best = torch.cat(list(self.asking.best(some, pool, vectors, self.question_vectors, self.numbers.mined, hide)))
                enough = (best >= 0).all(1)  # in the first years there may be fewer papers
                if answers:
                    enough &= self.asking.answers(some, best).any(1)
                kept.append(some[enough])
                found.append(best[enough])
            if sum(map(len, kept)):
                self._hard[at] = torch.cat(kept), torch.cat(found)
        mined = sum(len(questions) for questions, _ in self._hard.values())
        return {"mined": mined, "took": round(time.monotonic() - started, 1)}

    @property
    def has_mined(self) -> bool:
        return bool(self._hard)

    def _drawn_most(self, group: Group) -> Tensor:
        most = self.numbers.mine_most
        if len(group.questions) <= most:
            return group.questions
        return group.questions[torch.randperm(len(group.questions), device=self.device)[:most]]

    # -- what it is worth ----------------------------------------------------------------------------------------------

    @torch.no_grad()
    def dev(self, reading: Reading | None = None) -> dict[str, float]:
        """R@10 and RR of every set and task on dev, by the model or by another one's reading."""
        self.model.eval()
        reading = reading or self.reading
        found: dict[str, float] = {}
        for group in self.asking.groups("dev"):
            pool = self.asking.pool(group.set, group.sentences)
            vectors = reading.paper_vectors(pool, int(self.arrays["train_until"][group.set]) + 1)
            measured = self.asking.measure(group, pool, vectors, reading.question_vectors, self.numbers.dev_sample)
            name = group.name(self.arrays)
            found |= {f"{name} {measure}": round(value, 4) for measure, value in measured.items() if measure != "queries"}
        return found


def fit(pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", watcher: Watcher | None = None) -> Bert:
    """Train an encoder from a pack and the weights of another one; killed, it goes on from its last checkpoint."""
    chosen = device_called(device)
    numbers, inputs = numbers_of(Numbers, recipe, "numbers"), Inputs(**recipe.get("inputs", {}))
    training = Training(load(pack), base, numbers, inputs, chosen)
    optimizer = torch.optim.AdamW(training.model.parameters(), numbers.rate, weight_decay=numbers.decay)
    checkpoint = Checkpoint(out / CHECKPOINT, fingerprint(recipe, [pack, base / WEIGHTS], chosen), chosen)
    steps = Steps(training.model, optimizer, training, out, checkpoint, watcher)
    steps.run(
        *(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every),
        before=training.mine_at,
        clip=1.0,
    )
    write_bert(training.model, out)
    write_about(out, inputs, recipe, training.arrays, base)
    return training.model


def numbers_of(kind: type[Kind], recipe: Mapping[str, Any], section: str) -> Kind:
    """A section of a recipe as the numbers that it gives."""
    given: Mapping[str, Any] = recipe.get(section, {})
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})


def device_called(name: str) -> torch.device:
    """The device of a name; of none: a GPU where there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise CitewellError("torch finds no GPU here; leave --device out, or name cpu")
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def export(weights: Path, target: Path) -> None:
    """The served form: int8 ONNX, budgets, tokeniser and card."""
    export_onnx(weights, target, "an encoder of queries and papers: texts to vectors, int8 ONNX")


def export_onnx(weights: Path, target: Path, what: str, longest: int | None = None) -> None:
    """What is served of weights in Hugging Face's layout; `longest` tokens at most are read."""
    from citewell.models.bert_onnx import convert

    target.mkdir(parents=True, exist_ok=True)
    for name in (BUDGETS, TOKENIZER):
        shutil.copyfile(weights / name, target / name)
    write_card(weights, target, what)
    convert(weights, target / "model.onnx", longest=longest)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), content(Path(sys.argv[3])), Path(sys.argv[4]))
