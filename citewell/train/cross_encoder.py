"""The cross-encoder: question and candidate read together, a score for the pair.

It is trained on the candidates of our own retrieval: of the papers that the encoder finds for a question, one that answers it
and some of the others. An answer that the encoder does not find is none to learn from: among others that it does find it would
teach that what is unlike the question is right. A large one is trained first, and a small one, made of some of its layers,
learns from the answers and from the large one's scores. Only numpy and torch are needed:
``python -m citewell.train.cross_encoder PACK ENCODER RECIPE OUT``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.batches import Texts
from citewell.train.bert import WEIGHTS, Bert, read_bert, write_bert
from citewell.train.card import RECIPE, write_about
from citewell.train.checkpoint import Checkpoint, fingerprint
from citewell.train.encoder import CHECKPOINT, Numbers, Training, device_called, export_onnx, numbers_of
from citewell.train.monitoring import Watcher
from citewell.train.packs import load
from citewell.train.recipe_files import content
from citewell.train.steps import Steps

LARGE = "-large"
"""The served form of the large one is called so, after the name of the small one."""
_AT_ONCE = 32


@dataclass(frozen=True)
class CrossNumbers:
    """The numbers of a recipe."""

    steps: int = 1500
    lists: int = 128
    """Questions a step."""
    length: int = 16
    """Candidates a question, the right one among them."""
    rate: float = 1e-4
    warmup: float = 0.05
    decay: float = 0.01
    layers: tuple[int, ...] = ()
    """Of which layers of the large one the small one is made; none: no small one."""
    small_steps: int = 1500
    small_rate: float = 1.5e-4
    teacher: float = 1.0
    """How much the large one's scores count for the small one, beside the answers."""
    dev_questions: int = 300
    dev_depth: int = 50
    dev_every: int = 500


SECTIONS = {"numbers": Numbers, "cross": CrossNumbers}
"""What a recipe gives."""


class CrossEncoder(nn.Module):
    """Pairs of texts to scores."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert
        self.head = nn.Linear(bert.config["hidden_size"], 1)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor, places: Tensor) -> Tensor:
        hidden = self.bert(ids, mask, kinds, places)[:, 0]
        scores: Tensor = self.head(hidden.float())[:, 0]
        return scores


class Pairs:
    """Pairs of questions and papers as the cross-encoder reads them."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def __call__(self, questions: Tensor, papers: Tensor, years: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The texts of each question beside each paper of its row: ids, mask, kinds and places."""
        length = papers.shape[1]
        asked = self._texts.questions(questions)
        found = self._texts.papers(papers.flatten(), years.repeat_interleave(length))
        ids = torch.cat([asked.ids.repeat_interleave(length, 0), found.ids[:, 1:]], dim=1)
        mask = torch.cat([asked.mask.repeat_interleave(length, 0), found.mask[:, 1:]], dim=1)
        kinds = torch.zeros_like(ids)
        kinds[:, asked.ids.shape[1] :] = 1
        # Padding stands between the two, but no place is counted for it.
        places = (mask.cumsum(1) - 1).clamp(min=0)
        return ids, mask, kinds, places


class Listwise:
    """The training of one cross-encoder on questions with their candidates, which an encoder finds."""

    def __init__(
        self, model: CrossEncoder, finder: Training, pairs: Pairs, numbers: CrossNumbers, teacher: CrossEncoder | None = None
    ) -> None:
        self.model, self._finder, self._pairs, self._numbers = model, finder, pairs, numbers
        self._teacher = None if teacher is None else teacher.eval()

    def before(self, step: int) -> dict[str, float]:
        """Candidates are found once."""
        return {} if self._finder.has_mined else self._finder.mine(answers=True)

    def loss(self) -> Tensor:
        """Of some questions: the right papers, and the teacher's scores where there is one."""
        questions, papers, right = self._drawn()
        texts = self._pairs(questions, papers, self._finder.asking.year[questions])
        scores = self._scores(self.model, texts).view(papers.shape)
        loss = losses.listwise(scores, right)
        if self._teacher is None:
            return loss
        with torch.no_grad():
            wanted = self._scores(self._teacher, texts).view(papers.shape)
        return loss + self._numbers.teacher * losses.likeness(scores, wanted, 1.0)

    def _drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        """Questions of one set and task, some of their candidates, a right one first, and which of them are right."""
        known, found = self._finder.drawn_hard()
        places = torch.randperm(len(known), device=known.device)[: self._numbers.lists]
        questions, papers = known[places], found[places]
        right = self._finder.asking.answers(questions, papers)
        luck = torch.rand(papers.shape, device=papers.device)
        first = torch.where(right, luck, -1.0).argmax(1, keepdim=True)
        order = luck.scatter(1, first, 2.0).argsort(1, descending=True)[:, : self._numbers.length]
        return questions, papers.gather(1, order), right.gather(1, order).float()

    def _scores(self, model: Callable[..., Tensor], texts: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        kind = self._finder.device.type
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            found: Tensor = model(*texts)
        return found

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR of the encoder's best candidates, ordered anew, on dev."""
        self.model.eval()
        finder, numbers = self._finder, self._numbers
        found: dict[str, float] = {}
        for group in finder.asking.groups("dev"):
            pool = finder.asking.pool(group.set, group.sentences)
            before = int(finder.arrays["train_until"][group.set]) + 1
            vectors = finder.dev_vectors(group.set, group.sentences, pool, before)
            questions = group.questions[: numbers.dev_questions]
            best = torch.cat(list(finder.asking.best(questions, pool, vectors, finder.question_vectors, numbers.dev_depth)))
            parts = zip(questions.split(_AT_ONCE), best.split(_AT_ONCE), strict=True)
            ranked = torch.cat([self._ranked(some, papers, before) for some, papers in parts])
            right = finder.asking.answers(questions, ranked)
            recall = (right[:, :10].sum(1) / finder.asking.wanted(questions)).mean()
            first = torch.where(right.any(1), 1 / (right.float().argmax(1) + 1), 0.0).mean()
            name = group.name(finder.arrays)
            found |= {f"{name} R@10": round(recall.item(), 4), f"{name} RR": round(first.item(), 4)}
        return found

    def _ranked(self, questions: Tensor, papers: Tensor, before: int) -> Tensor:
        """Papers in rows, by their scores; -1, which is no paper, last."""
        texts = self._pairs(questions, papers.clamp(min=0), torch.full_like(questions, before))
        scores = self._scores(self.model, texts).view(papers.shape).masked_fill(papers < 0, float("-inf"))
        return papers.gather(1, scores.argsort(1, descending=True))


def fit(
    pack: Path, encoder: Path, recipe: Mapping[str, Any], out: Path, device: str = "", watcher: Watcher | None = None
) -> CrossEncoder:
    """Train a cross-encoder from a pack and the encoder that finds its candidates; killed, it goes on from a checkpoint."""
    chosen = device_called(device)
    numbers = numbers_of(CrossNumbers, recipe, "cross")
    finder = Training(load(pack), encoder, numbers_of(Numbers, recipe, "numbers"), Inputs.read(encoder) or Inputs(), chosen)
    inputs = Inputs(**recipe.get("inputs", {}))
    pairs = Pairs(Texts(finder.arrays, inputs, chosen))
    whole = fingerprint(recipe, [pack, encoder / WEIGHTS], chosen)

    def train(learning: Listwise, folder: Path, steps: int, rate: float) -> CrossEncoder:
        optimizer = torch.optim.AdamW(learning.model.parameters(), rate, weight_decay=numbers.decay)
        made = Steps(learning.model, optimizer, finder, folder, Checkpoint(folder / CHECKPOINT, whole, chosen), watcher)
        made.run(steps, rate, numbers.warmup, learning.loss, learning.dev, numbers.dev_every, learning.before, clip=1.0)
        save(learning.model, folder)
        write_about(folder, inputs, recipe, finder.arrays, encoder)
        return learning.model

    first = CrossEncoder(read_bert(encoder)).to(chosen)
    large = train(Listwise(first, finder, pairs, numbers), out / "large", numbers.steps, numbers.rate)
    if not numbers.layers:
        return large
    second = shortened(large, numbers.layers).to(chosen)
    return train(Listwise(second, finder, pairs, numbers, large), out / "small", numbers.small_steps, numbers.small_rate)


def shortened(large: CrossEncoder, layers: tuple[int, ...]) -> CrossEncoder:
    """A cross-encoder of some layers of another."""
    bert = Bert({**large.bert.config, "num_hidden_layers": len(layers)})
    small = CrossEncoder(bert)
    weights = large.state_dict()
    for name in small.state_dict():
        source = name
        if name.startswith("bert.encoder.layer."):
            _, _, _, place, rest = name.split(".", 4)
            source = f"bert.encoder.layer.{layers[int(place)]}.{rest}"
        small.state_dict()[name].copy_(weights[source])
    return small


def save(model: CrossEncoder, folder: Path) -> None:
    """The weights in Hugging Face's layout, the head as its classifier."""
    write_bert(model.bert, folder, {"classifier.weight": model.head.weight, "classifier.bias": model.head.bias})


def export(weights: Path, target: Path) -> None:
    """The served form of the small one, and beside it, under its name and ``-large``, of the large one, if there are two."""
    recipe = json.loads((weights / "large" / RECIPE).read_text("utf-8"))
    what = "a cross-encoder of a query and a paper: a score for the pair, int8 ONNX"
    inputs = Inputs.read(weights / "large") or Inputs()
    longest = inputs.query + inputs.paper
    if numbers_of(CrossNumbers, recipe, "cross").layers:
        export_onnx(weights / "small", target, what, longest)
        target = target.with_name(f"{target.name}{LARGE}")
    export_onnx(weights / "large", target, what, longest)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), content(Path(sys.argv[3])), Path(sys.argv[4]))
