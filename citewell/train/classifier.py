"""The classifier of Nogueira et al.: a BERT that reads query and candidate together and tells whether the one cites the other.

It is trained with cross-entropy on the ten best candidates of a first stage, as they come: those that the query cites are
right, the others wrong, nothing is balanced or added. Query and candidate are title and abstract, each cut to its budget of
tokens. What it makes is served as a cross-encoder. ``python -m citewell.train.classifier PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.batches import Texts
from citewell.train.bert import WEIGHTS, read_bert
from citewell.train.card import write_about
from citewell.train.checkpoint import Checkpoint, fingerprint
from citewell.train.checkpoints import Best
from citewell.train.cross_encoder import CrossEncoder, Pairs, save
from citewell.train.encoder import CHECKPOINT, device_called, export_onnx, numbers_of
from citewell.train.lists import Lists, measured, ranked
from citewell.train.monitoring import Watcher
from citewell.train.pack_queries import Asking, Group
from citewell.train.packs import TASKS, Arrays, load
from citewell.train.recipe_files import content
from citewell.train.sidecars import beside
from citewell.train.steps import Steps

_PAIRS_AT_ONCE = 64


@dataclass(frozen=True)
class Numbers:
    """The numbers of a recipe."""

    steps: int = 300_000
    pairs: int = 128
    """Pairs of a query and a candidate a step."""
    top: int = 10
    """So many candidates of each query are trained on."""
    task: str = "global"
    first_stage: str = "bm25"
    """The pipeline whose lists are beside the pack."""
    sample: int = 0
    """Of each set so many train questions are put to it; 0: all."""
    rate: float = 3e-6
    warmup: float = 0.033
    decay: float = 0.01
    dropout: float = 0.1
    dev_every: int = 5000
    dev_questions: int = 200
    dev_depth: int = 100
    seed: int = 1


SECTIONS = {"numbers": Numbers}
"""What a recipe gives."""


class Training:
    """Draws pairs with their labels, and measures on dev."""

    def __init__(
        self, arrays: Arrays, model: CrossEncoder, numbers: Numbers, inputs: Inputs, lists: Lists, device: torch.device
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.arrays, self.model, self.numbers = arrays, model, numbers
        texts = Texts(arrays, inputs, device)
        self.asking, self._pairs, self._device = Asking(arrays, texts), Pairs(texts), device
        self.best = Best(model)
        groups = self._groups("train")
        asked = torch.cat([group.questions for group in groups]) if groups else torch.zeros(0, dtype=torch.int64, device=device)
        rows = lists.of(asked)[:, : numbers.top]
        there = rows >= 0
        self.questions, self.papers = asked[:, None].expand_as(rows)[there], rows[there]
        self.labels = self.asking.answers(asked, rows)[there].float()
        if not self.labels.any():
            raise CitewellError(f"the first stage finds no right paper among its best {numbers.top}; ask it more questions")
        self._dev = []
        for group in self._groups("dev"):
            known = group.questions[lists.known(group.questions)][: numbers.dev_questions]
            self._dev.append((group, known, lists.of(known)[:, : numbers.dev_depth]))

    def state(self) -> dict[str, Any]:
        """What further steps depend on, but for torch's own random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """Of one batch of pairs."""
        places = torch.randint(len(self.labels), (self.numbers.pairs,), device=self._device)
        return losses.binary(self._scores(self.questions[places], self.papers[places]), self.labels[places])

    def _scores(self, questions: Tensor, papers: Tensor) -> Tensor:
        texts = self._pairs(questions, papers[:, None], self.asking.year[questions])
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            scores: Tensor = self.model(*texts)
        return scores

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR of the first stage's candidates, ordered anew."""
        self.model.eval()
        found: dict[str, float] = {}
        for group, questions, rows in self._dev:
            if not len(questions):
                continue
            both = questions[:, None].expand_as(rows).flatten(), rows.clamp(min=0).flatten()
            parts = zip(*(part.split(_PAIRS_AT_ONCE) for part in both), strict=True)
            scores = torch.cat([self._scores(*some) for some in parts]).view(rows.shape)
            measures = measured(self.asking, questions, ranked(rows, scores))
            found |= {f"{group.name(self.arrays)} {key}": measures[key] for key in ("R@10", "RR")}
        firsts = [value for key, value in found.items() if key.endswith(" RR")]
        self.best.offer(sum(firsts) / len(firsts) if firsts else 0.0)
        return found

    def _groups(self, split: str) -> list[Group]:
        task = TASKS.index(self.numbers.task)
        return [group for group in self.asking.groups(split) if group.task == task and not group.sentences]


def fit(
    pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", watcher: Watcher | None = None
) -> CrossEncoder:
    """Train a classifier from a pack, the lists beside it, and pretrained weights; killed, it goes on from a checkpoint."""
    chosen = device_called(device)
    numbers, inputs = numbers_of(Numbers, recipe, "numbers"), Inputs(**recipe.get("inputs", {}))
    arrays = load(pack)
    torch.manual_seed(numbers.seed)
    model = CrossEncoder(read_bert(base, numbers.dropout)).to(chosen)
    lists = Lists.read(pack, arrays, numbers.first_stage, chosen)
    training = Training(arrays, model, numbers, inputs, lists, chosen)
    optimizer = torch.optim.AdamW(model.parameters(), numbers.rate, weight_decay=numbers.decay)
    files = [pack, base / WEIGHTS, beside(pack, numbers.first_stage)]
    checkpoint = Checkpoint(out / CHECKPOINT, fingerprint(recipe, files, chosen), chosen)
    steps = Steps(model, optimizer, training, out, checkpoint, watcher)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every, clip=1.0)
    training.best.take()
    save(model, out)
    write_about(out, inputs, recipe, arrays, base)
    return model


def export(weights: Path, target: Path) -> None:
    """The served form, that of a cross-encoder."""
    export_onnx(weights, target, "a classifier of a query and a paper by Nogueira et al.: a score for the pair, int8 ONNX")


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), content(Path(sys.argv[3])), Path(sys.argv[4]))
