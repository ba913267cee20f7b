"""The cross-encoder: question and candidate read together, a score for the pair.

It is trained on the candidates of our own retrieval: for each question one paper that answers it among others that the encoder
holds to be as good. A large one is trained first, and a small one, made of some of its layers, learns from the answers and from
the large one's scores. Only numpy and torch are needed: ``python -m citewell.train.cross_encoder PACK ENCODER RECIPE OUT``.
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.batches import Texts
from citewell.train.bert import Bert, read_bert, write_bert
from citewell.train.encoder import Numbers, Training, rate_share
from citewell.train.packs import load


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


class Lists:
    """The questions of a pack with their candidates."""

    def __init__(self, training: Training, numbers: CrossNumbers) -> None:
        training.mine()
        self._training, self._numbers = training, numbers

    def drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        """Questions of one set and task, their candidates (the right one first), and the years that they are asked in."""
        training = self._training
        known, wrong = training.drawn_hard()
        places = torch.randperm(len(known), device=known.device)[: self._numbers.lists]
        questions = known[places]
        order = torch.rand(len(places), wrong.shape[1], device=known.device).argsort(1)[:, : self._numbers.length - 1]
        right = training.asking.one_answer(questions)
        papers = torch.cat([right[:, None], wrong[places].gather(1, order)], dim=1)
        return questions, papers, training.asking.year[questions]


def fit(pack: Path, encoder: Path, recipe: dict[str, Any], out: Path, device: str = "") -> CrossEncoder:
    """Train a cross-encoder from a pack and the encoder that finds its candidates."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    given: dict[str, Any] = recipe.get("cross", {})
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    numbers = CrossNumbers(**given)
    arrays = load(pack)
    finder = Training(arrays, encoder, Numbers(**recipe.get("numbers", {})), Inputs(**recipe.get("finder", {})), out, chosen)
    inputs = Inputs(**recipe.get("inputs", {}))
    pairs = Pairs(Texts(arrays, inputs, chosen))
    lists = Lists(finder, numbers)
    large = CrossEncoder(read_bert(encoder)).to(chosen)
    _train(large, lists, pairs, finder, numbers, numbers.steps, numbers.rate, None)
    save(large, inputs, recipe, out / "large")
    if not numbers.layers:
        return large
    small = shortened(large, numbers.layers).to(chosen)
    _train(small, lists, pairs, finder, numbers, numbers.small_steps, numbers.small_rate, large)
    save(small, inputs, recipe, out / "small")
    return small


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


def _train(
    model: CrossEncoder,
    lists: Lists,
    pairs: Pairs,
    finder: Training,
    numbers: CrossNumbers,
    steps: int,
    rate: float,
    teacher: CrossEncoder | None,
) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=numbers.decay)
    started = time.monotonic()
    for step in range(steps):
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = rate * rate_share(step, steps, numbers.warmup)
        questions, papers, years = lists.drawn()
        texts = pairs(questions, papers, years)
        score = _scorer(model, finder)
        scores = score(*texts).view(papers.shape)
        right = torch.zeros_like(scores)
        right[:, 0] = 1
        loss = losses.listwise(scores, right)
        if teacher is not None:
            teacher.eval()
            with torch.no_grad():
                wanted = _scorer(teacher, finder)(*texts).view(papers.shape)
            loss = loss + numbers.teacher * losses.likeness(scores, wanted, 1.0)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % numbers.dev_every == 0 or step + 1 == steps:
            finder.step, finder.seconds = step + 1, time.monotonic() - started
            finder.note({"loss": round(float(loss.detach()), 4), **_dev(model, pairs, finder, numbers)})


def _scorer(model: CrossEncoder, finder: Training) -> Callable[..., Tensor]:
    def score(*texts: Tensor) -> Tensor:
        with torch.autocast(finder.device.type, torch.bfloat16, enabled=finder.device.type == "cuda"):
            found: Tensor = model(*texts)
        return found

    return score


@torch.no_grad()
def _dev(model: CrossEncoder, pairs: Pairs, finder: Training, numbers: CrossNumbers) -> dict[str, float]:
    """R@10 and RR of the encoder's best candidates, ordered anew, on dev."""
    model.eval()
    found = {}
    for group in finder.asking.groups("dev"):
        pool = finder.asking.pool(group.set, group.sentences)
        before = int(finder.arrays["train_until"][group.set]) + 1
        vectors = finder.dev_vectors(group.set, group.sentences, pool, before)
        questions = group.questions[: numbers.dev_questions]
        recall, first = [], []
        best = finder.asking.best(questions, pool, vectors, finder.question_vectors, numbers.dev_depth, hide=False)
        for some, papers in zip(questions.split(512), best, strict=True):
            scores = torch.cat(
                [
                    _scorer(model, finder)(*pairs(one, row, torch.full_like(one, before))).view(row.shape)
                    for one, row in zip(some.split(32), papers.split(32), strict=True)
                ]
            )
            ranked = papers.gather(1, scores.argsort(1, descending=True))
            right = finder.asking.answers(some, ranked)
            recall.append(right[:, :10].sum(1) / finder.asking.wanted(some))
            first.append(torch.where(right.any(1), 1 / (right.float().argmax(1) + 1), 0.0))
        name = group.name(finder.arrays)
        found[f"{name} R@10"] = round(torch.cat(recall).mean().item(), 4)
        found[f"{name} RR"] = round(torch.cat(first).mean().item(), 4)
    return found


def save(model: CrossEncoder, inputs: Inputs, recipe: dict[str, Any], folder: Path) -> None:
    """The weights in Hugging Face's layout, the head as its classifier."""
    write_bert(model.bert, folder, {"classifier.weight": model.head.weight, "classifier.bias": model.head.bias})
    inputs.write(folder)
    (folder / "recipe.json").write_text(json.dumps(recipe, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), tomllib.loads(Path(sys.argv[3]).read_text("utf-8")), Path(sys.argv[4]))
