"""The encoder: question and paper to vectors that are near each other where the one cites the other.

In-batch softmax over questions of one set and task at a time. After the first part of the steps the encoder looks for wrong
papers that it holds to be right, and from then on each question brings some of those along (hard negatives), looked for anew
at the recipe's intervals. Only numpy and torch are needed: ``python -m citewell.train.encoder PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

import csv
import json
import math
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.asking import Asking, Group
from citewell.train.batches import Texts, Tokens
from citewell.train.bert import Bert, mean_vector, read_bert, write_bert
from citewell.train.packs import Arrays, load

_ENCODED_AT_ONCE = 1024

Encode = Callable[[Tokens], Tensor]


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


class Training:
    """One training: its pack, its model, and how far it is."""

    def __init__(self, arrays: Arrays, base: Path, numbers: Numbers, inputs: Inputs, out: Path, device: torch.device) -> None:
        torch.manual_seed(numbers.seed)
        self.numbers, self.out, self.arrays = numbers, out, arrays
        self.texts = Texts(arrays, inputs, device)
        self.asking = Asking(arrays, self.texts)
        self.groups = self.asking.groups("train")
        self.model = read_bert(base, numbers.dropout).to(device)
        self._bf16 = device.type == "cuda"
        self.device = device
        spread = np.array([group.pairs for group in self.groups], float) ** numbers.evenness
        self._shares = spread / spread.sum()
        self._random = np.random.default_rng(numbers.seed)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), numbers.rate, weight_decay=numbers.decay)
        self.step = 0
        self.seconds = 0.0
        self._dev_vectors: dict[tuple[int, int], Tensor] = {}
        self._hard: dict[int, tuple[Tensor, Tensor]] = {}
        """Of a group the questions that have hard negatives, and these."""

    # -- steps ---------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Train to the end, from the last checkpoint where there is one."""
        self._resume()
        while self.step < self.numbers.steps:
            started = time.monotonic()
            if self.step in self.numbers.mine_at:
                self.mine()
            loss = self._one_step()
            self.step += 1
            self.seconds += time.monotonic() - started
            if self.step % 50 == 0:
                self.note({"loss": round(float(loss), 4)})
            if self.step % self.numbers.dev_every == 0 or self.step == self.numbers.steps:
                self.note(self.dev())
                self._checkpoint()
        write_bert(self.model, self.out)

    def _one_step(self) -> Tensor:
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.numbers.rate * rate_share(self.step, self.numbers.steps, self.numbers.warmup)
        loss = self._loss()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()

    def _loss(self) -> Tensor:
        questions, _, texts, hidden = self.drawn_batch()
        right = torch.arange(len(questions), device=self.device)
        scores = self.encode(texts[0]) @ self.encode(texts[1]).T
        return losses.in_batch_softmax(scores, right, hidden, self.numbers.temperature)

    def drawn_batch(self) -> tuple[Tensor, Tensor, tuple[Tokens, Tokens], Tensor]:
        """Questions and papers of one set and task, their texts, and which papers besides the right one may answer which."""
        questions, papers = self._batch(int(self._random.choice(len(self.groups), p=self._shares)))
        years = self.asking.year[questions].repeat(len(papers) // len(questions))
        bare = torch.rand(len(papers), device=self.device) < self.numbers.without_contexts
        texts = self.texts.questions(questions), self.texts.papers(papers, torch.where(bare, 0, years), drawn=True)
        right = torch.arange(len(questions), device=self.device)
        hidden = self.asking.may_answer(questions, papers) | (papers[right][:, None] == papers)
        hidden[right, right] = False
        return questions, papers, texts, hidden

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
        while (at := int(self._random.choice(len(self.groups), p=self._shares))) not in self._hard:
            pass
        return self._hard[at]

    def _drawn(self, values: Tensor, size: int) -> Tensor:
        # No question twice, and never so much of a small group that its papers answer one another's questions.
        size = min(size, max(1, len(values) // 2))
        return values[torch.randperm(len(values), device=self.device)[:size]]

    # -- vectors -------------------------------------------------------------------------------------------------------

    def encode(self, tokens: Tokens) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._bf16):
            return mean_vector(self.model(tokens.ids, tokens.mask), tokens.mask)

    @torch.no_grad()
    def paper_vectors(self, numbers: Tensor, before: int, encode: Encode | None = None) -> Tensor:
        """Vectors of papers as they stood before a year."""
        self.model.eval()
        make = encode or self.encode
        parts = [make(self.texts.papers(some, torch.full_like(some, before))) for some in numbers.split(_ENCODED_AT_ONCE)]
        return torch.cat(parts)

    @torch.no_grad()
    def question_vectors(self, numbers: Tensor, encode: Encode | None = None) -> Tensor:
        self.model.eval()
        make = encode or self.encode
        return torch.cat([make(self.texts.questions(some)) for some in numbers.split(_ENCODED_AT_ONCE)])

    def dev_vectors(self, place: int, sentences: int, pool: Tensor, before: int) -> Tensor:
        """Vectors of a pool as dev sees it, made once; for those whose own weights no longer change."""
        known = self._dev_vectors.get((place, sentences))
        if known is None:
            known = self._dev_vectors[place, sentences] = self.paper_vectors(pool, before)
        return known

    # -- hard negatives ------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def mine(self) -> None:
        """For questions of every group the best papers that do not answer them, by the vectors of the moment."""
        started = time.monotonic()
        known: dict[tuple[int, int, int], Tensor] = {}
        for at, group in enumerate(self.groups):
            questions = self._drawn_most(group)
            years = self.asking.year[questions]
            kept, found = [], []
            whole = self.asking.pool(group.set, group.sentences)
            for year in sorted(set(years.tolist())):
                some = questions[years == year]
                pool = whole[self.asking.paper_date[whole] < (year + 1) * 10_000]
                if (group.set, group.sentences, year) not in known:
                    known[group.set, group.sentences, year] = self.paper_vectors(pool, year)
                vectors = known[group.set, group.sentences, year]
                best = list(self.asking.best(some, pool, vectors, self.question_vectors, self.numbers.mined, hide=True))
                if best[0].shape[1] == self.numbers.mined:  # in the first years there may be fewer papers
                    kept.append(some)
                    found.append(torch.cat(best))
            if found:
                self._hard[at] = torch.cat(kept), torch.cat(found)
        self.note({"mined": sum(len(known) for known, _ in self._hard.values()), "took": time.monotonic() - started})

    def _drawn_most(self, group: Group) -> Tensor:
        most = self.numbers.mine_most
        if len(group.questions) <= most:
            return group.questions
        return group.questions[torch.randperm(len(group.questions), device=self.device)[:most]]

    # -- what it is worth ----------------------------------------------------------------------------------------------

    @torch.no_grad()
    def dev(self, encode: Encode | None = None) -> dict[str, float]:
        """R@10 and RR of every set and task on dev."""
        found: dict[str, float] = {}
        for group in self.asking.groups("dev"):
            pool = self.asking.pool(group.set, group.sentences)
            vectors = self.paper_vectors(pool, int(self.arrays["train_until"][group.set]) + 1, encode)
            ask = partial(self.question_vectors, encode=encode)
            measured = self.asking.measure(group, pool, vectors, ask, self.numbers.dev_sample)
            name = group.name(self.arrays)
            found |= {f"{name} {measure}": round(value, 4) for measure, value in measured.items() if measure != "queries"}
        return found

    def note(self, values: dict[str, float]) -> None:
        line = {"step": self.step, "seconds": round(self.seconds, 1), **values}
        print(" ".join(f"{key} {value}" for key, value in line.items()), flush=True)
        with (self.out / "curve.csv").open("a", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerows([self.step, round(self.seconds, 1), key, value] for key, value in values.items())

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _checkpoint(self) -> None:
        state: dict[str, Any] = {
            "numbers": asdict(self.numbers),
            "step": self.step,
            "seconds": self.seconds,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": self._random.bit_generator.state,
            "hard": self._hard,
        }
        part = self.out / "checkpoint.part"
        torch.save(state, part)
        part.rename(self.out / "checkpoint.pt")

    def _resume(self) -> None:
        path = self.out / "checkpoint.pt"
        if path.exists():
            state = torch.load(path, map_location=self.device, weights_only=False)
            if state["numbers"] == asdict(self.numbers):
                self.step, self.seconds, self._hard = state["step"], state["seconds"], state["hard"]
                self.model.load_state_dict(state["model"])
                self.optimizer.load_state_dict(state["optimizer"])
                self._random.bit_generator.state = state["random"]


def rate_share(step: int, steps: int, warmup: float) -> float:
    """The share of the full rate: rising, then falling along a cosine."""
    risen = max(1, int(steps * warmup))
    return (step + 1) / risen if step < risen else 0.5 * (1 + math.cos(math.pi * (step - risen) / max(1, steps - risen)))


def fit(pack: Path, base: Path, recipe: dict[str, Any], out: Path, device: str = "") -> Bert:
    """Train an encoder from a pack and the weights of another one."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    given: dict[str, Any] = recipe.get("numbers", {})
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    inputs = Inputs(**recipe.get("inputs", {}))
    training = Training(load(pack), base, Numbers(**given), inputs, out, chosen)
    training.run()
    inputs.write(out)
    (out / "recipe.json").write_text(json.dumps(recipe, indent=1) + "\n", encoding="utf-8")
    return training.model


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), tomllib.loads(Path(sys.argv[3]).read_text("utf-8")), Path(sys.argv[4]))
