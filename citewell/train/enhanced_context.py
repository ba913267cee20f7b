"""Training Medić's enhanced-context re-ranker: pairs of a context and a cited paper, each with wrong papers held against it.

The right paper must score higher than every wrong one by a margin. Which pairs and which wrong papers there are is the choice
of `citewell.train.negatives`; of the weights those are kept that were best on dev. Beside the pack lie the authors and
citations of its papers (`citewell.train.authors`) where the variant reads them, and the lists of the first stage
(`citewell.train.prefilter`) where one is named. Only numpy and torch are needed:
``python -m citewell.train.enhanced_context PACK BASE RECIPE OUT``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.models.enhanced_context import FILE as SHAPE
from citewell.models.enhanced_context import NOBODY, Shape
from citewell.models.enhanced_onnx import WEIGHTS
from citewell.models.inputs import Inputs
from citewell.train import losses
from citewell.train.batches import Texts
from citewell.train.bert import CONFIG, read_bert
from citewell.train.card import TOKENIZER, write_about, write_card
from citewell.train.checkpoint import Checkpoint, fingerprint
from citewell.train.checkpoints import Best
from citewell.train.encoder import CHECKPOINT, device_called, numbers_of
from citewell.train.enhanced_network import Asked, Found, Network, Text
from citewell.train.lists import Lists, measured, ranked
from citewell.train.monitoring import Watcher
from citewell.train.negatives import Choice, Negatives, pairs
from citewell.train.pack_queries import Asking, Group
from citewell.train.packs import TASKS, Arrays, load
from citewell.train.recipe_files import content
from citewell.train.sidecars import PEOPLE, beside, word
from citewell.train.steps import Steps

_YEARS = 1 << 14
_AT_ONCE = 16


@dataclass(frozen=True)
class Numbers:
    """The numbers of a recipe."""

    steps: int = 10_000
    pairs: int = 30
    """Contexts with a cited paper a step."""
    wrong: int = 10
    """Wrong papers a pair."""
    margin: float = 0.3
    rate: float = 1e-3
    warmup: float = 0.0
    task: str = "local"
    table: str = ""
    """``base``: the word vectors start as those of the base; else at random."""
    dev_every: int = 500
    dev_questions: int = 300
    dev_depth: int = 100
    seed: int = 1


SECTIONS = {"numbers": Numbers, "shape": Shape, "negatives": Choice}
"""What a recipe gives."""


class Reading:
    """Questions and papers of a pack as the network reads them."""

    def __init__(self, arrays: Arrays, people: Arrays | None, shape: Shape, device: torch.device) -> None:
        def held(name: str, source: Arrays) -> Tensor:
            return torch.from_numpy(source[name].astype("int64")).to(device)

        self._shape, self._device = shape, device
        self._tokens, self._at, self._gap = (held(name, arrays) for name in ("tokens", "text_at", "text_gap"))
        self._question = {name: held(f"question_{name}", arrays) for name in ("context", "title", "abstract")}
        self._paper = {name: held(f"paper_{name}", arrays) for name in ("title", "abstract")}
        self._people = {name: held(name, people) for name in ("author_at", "authors", "cited_at")} if people else {}
        if people:
            counts = self._people["cited_at"].diff()
            papers = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
            self._cited = papers * _YEARS + held("cited_year", people)

    def questions(self, numbers: Tensor) -> Asked:
        """Questions with the places of their gaps."""
        rows, size = self._question["context"][numbers], self._shape.context
        whole = self._at[rows + 1] - self._at[rows]
        first = torch.minimum(self._gap[rows] - size // 2, whole - size).clamp(min=0)
        context = self._joined([(self._at[rows] + first, whole.clamp(max=size))], size)
        citing = self._own(self._question["title"][numbers], self._question["abstract"][numbers])
        return Asked(context, (self._gap[rows] - first).clamp(min=0), citing)

    def papers(self, numbers: Tensor, before: Tensor) -> Found:
        """Papers as they were known before a year."""
        text = self._own(self._paper["title"][numbers], self._paper["abstract"][numbers])
        if not self._people:
            nothing = torch.zeros(len(numbers), 0, device=self._device)
            return Found(text, nothing.long(), nothing)
        return Found(text, self._authors(numbers), self.cited(numbers, before))

    def cited(self, numbers: Tensor, before: Tensor) -> Tensor:
        """How often papers were cited in each of the last years before one, the last first, then how often in all."""
        ends = [
            torch.searchsorted(self._cited, numbers * _YEARS + (before - back).clamp(0, _YEARS - 1))
            for back in range(self._shape.years + 1)
        ]
        lately = [late - early for late, early in pairwise(ends)]
        return torch.stack([*lately, ends[0] - torch.searchsorted(self._cited, numbers * _YEARS)], dim=1).float()

    def _authors(self, numbers: Tensor) -> Tensor:
        first, after = (self._people["author_at"][numbers + step][:, None] for step in (0, 1))
        places = first + torch.arange(self._shape.authors, device=self._device)
        held = self._people["authors"]
        if not len(held):
            return torch.full_like(places, NOBODY)
        return torch.where(places < after, held[places.clamp(max=len(held) - 1)], NOBODY)

    def _own(self, titles: Tensor, abstracts: Tensor) -> Text:
        """Title and abstract as one text, cut."""
        parts = [(self._at[rows], self._at[rows + 1] - self._at[rows]) for rows in (titles, abstracts)]
        return self._joined(parts, self._shape.text)

    def _joined(self, parts: list[tuple[Tensor, Tensor]], size: int) -> Text:
        """Stretches of tokens (starts and lengths) behind one another; what is empty is one token all the same."""
        lengths = torch.stack([length for _, length in parts]).sum(0).clamp(max=size)
        width = max(1, int(lengths.max()))
        columns = torch.arange(width, device=self._device).expand(len(lengths), -1)
        source, ended = torch.zeros_like(columns), torch.zeros_like(lengths)
        for start, length in parts:
            source = torch.where(columns >= ended[:, None], start[:, None] + columns - ended[:, None], source)
            ended = ended + length
        ids = self._tokens[source.clamp(max=len(self._tokens) - 1)]
        return Text(torch.where(columns < lengths[:, None], ids, NOBODY), lengths.clamp(min=1))


class Training:
    """Draws pairs with wrong papers, and measures on dev."""

    def __init__(
        self,
        arrays: Arrays,
        model: Network,
        numbers: Numbers,
        choice: Choice,
        people: Arrays | None,
        lists: Lists | None,
        device: torch.device,
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.arrays, self.model, self.numbers, self.choice = arrays, model, numbers, choice
        self.reading = Reading(arrays, people, model.shape, device)
        self.asking = Asking(arrays, Texts(arrays, Inputs(), device))
        self.negatives = Negatives(arrays, self.asking, choice, lists)
        self.best = Best(model)
        self._lists = lists
        groups = self._groups("train")
        if not groups:
            raise CitewellError(f"the pack has no {numbers.task} question of the train years; make it of other sets")
        asked = torch.cat([group.questions for group in groups])
        asked = asked if lists is None else asked[lists.known(asked)]
        self.questions, self.right = pairs(arrays, asked, choice.regime, lists)
        if not len(self.questions):
            raise CitewellError("the first stage found no right paper for any question; use the standard regime")
        self._dev = [(group, *self._candidates(group)) for group in self._groups("dev")]

    def state(self) -> dict[str, Any]:
        """What further steps depend on, but for torch's own random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """Of one batch of triplets."""
        places = torch.randint(len(self.questions), (self.numbers.pairs,), device=self.asking.device)
        questions, right = self.questions[places], self.right[places]
        wrong = self.negatives.draw(questions, self.numbers.wrong)
        papers = torch.cat([right[:, None], wrong], dim=1)
        scores = self.scores(questions, papers, self.asking.year[questions])
        there = wrong >= 0
        if not there.any():  # none of the few questions has a hard paper
            return scores.sum() * 0.0
        near = scores[:, :1].expand_as(wrong)[there]
        return losses.triplet(-near, -scores[:, 1:][there], self.numbers.margin)

    def scores(self, questions: Tensor, papers: Tensor, before: Tensor) -> Tensor:
        """Of papers in rows, as they were known before a year."""
        found = self.reading.papers(papers.clamp(min=0).flatten(), before.repeat_interleave(papers.shape[1]))
        scores: Tensor = self.model(self.reading.questions(questions), found)
        return scores

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR of the candidates, ordered anew."""
        self.model.eval()
        found: dict[str, float] = {}
        for group, questions, papers in self._dev:
            until = int(self.arrays["train_until"][group.set])
            before = self.asking.year[questions].clamp(max=until + 1)
            some = zip(*(part.split(_AT_ONCE) for part in (questions, papers, before)), strict=True)
            orders = [ranked(rows, self.scores(asked, rows, years)) for asked, rows, years in some]
            measures = measured(self.asking, questions, torch.cat(orders))
            found |= {f"{group.name(self.arrays)} {key}": measures[key] for key in ("R@10", "RR")}
        firsts = [value for key, value in found.items() if key.endswith(" RR")]
        self.best.offer(sum(firsts) / max(1, len(firsts)))
        return found

    def _groups(self, split: str) -> list[Group]:
        task = TASKS.index(self.numbers.task)
        return [group for group in self.asking.groups(split) if group.task == task and not group.sentences]

    def _candidates(self, group: Group) -> tuple[Tensor, Tensor]:
        """Some dev questions and their candidates: what the first stage found, or some drawn where there is none.

        Under the standard regime the answers are put in; under the strict one only questions count that have one.
        """
        questions, numbers = group.questions, self.numbers
        if self._lists is None:
            questions = questions[: numbers.dev_questions]
            drawn = Negatives(self.arrays, self.asking, Choice())
            torch.manual_seed(0)  # the same ones for every recipe
            rows = torch.cat([drawn.draw(some, numbers.dev_depth) for some in questions.split(32)])
            torch.manual_seed(numbers.seed)
        else:
            questions = questions[self._lists.known(questions)][: numbers.dev_questions]
            rows = self._lists.of(questions)[:, : numbers.dev_depth]
        if self.choice.regime == "strict":
            kept = self.asking.answers(questions, rows).any(1)
            return questions[kept], rows[kept]
        return questions, torch.cat([rows, self._missing(questions, rows)], dim=1)

    def _missing(self, questions: Tensor, rows: Tensor) -> Tensor:
        """The answers that are not in the rows, then -1."""
        asked, right = pairs(self.arrays, questions)
        width = int(self.asking.wanted(questions).max()) if len(questions) else 0
        found = torch.full((len(questions), width), -1, device=rows.device)
        place = {question: at for at, question in enumerate(questions.tolist())}
        filled = [0] * len(place)
        for question, paper in zip(asked.tolist(), right.tolist(), strict=True):
            at = place[question]
            if not bool((rows[at] == paper).any()):
                found[at, filled[at]] = paper
                filled[at] += 1
        return found


def fit(
    pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", watcher: Watcher | None = None
) -> Network:
    """Train a re-ranker from a pack and what lies beside it; killed, it goes on from its last checkpoint.

    `base` gives the tokeniser, and word vectors if the recipe says so.
    """
    chosen = device_called(device)
    numbers, choice = numbers_of(Numbers, recipe, "numbers"), numbers_of(Choice, recipe, "negatives")
    arrays = load(pack)
    torch.manual_seed(numbers.seed)
    shape, table = _shaped(numbers_of(Shape, recipe, "shape"), numbers, base)
    beside_it = [beside(pack, name) for name in ([PEOPLE] if shape.parts.bibliography else [])]
    people = _people(pack, arrays, shape) if shape.parts.bibliography else None
    lists = Lists.read(pack, arrays, choice.first_stage, chosen) if choice.first_stage else None
    model = Network(shape, table).to(chosen)
    training = Training(arrays, model, numbers, choice, people, lists, chosen)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    files = [pack, *beside_it, *([beside(pack, choice.first_stage)] if lists else [])]
    checkpoint = Checkpoint(out / CHECKPOINT, fingerprint(recipe, files, chosen), chosen)
    steps = Steps(model, optimizer, training, out, checkpoint, watcher)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every)
    training.best.take()
    save(model, out)
    write_about(out, Inputs(**recipe.get("inputs", {})), recipe, arrays, base)
    return model


def save(model: Network, folder: Path) -> None:
    """Weights and sizes as `citewell.models.enhanced_onnx` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    model.shape.write(folder)
    np.savez(folder / WEIGHTS, **{name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()})


def export(weights: Path, target: Path) -> None:
    """The served form: ONNX, sizes, tokeniser and card."""
    from citewell.models.enhanced_onnx import convert

    target.mkdir(parents=True, exist_ok=True)
    for name in (SHAPE, TOKENIZER):
        shutil.copyfile(weights / name, target / name)
    write_card(weights, target, "a re-ranker of candidates for a citation context, by Medić's thesis, ONNX")
    convert(weights, target / "model.onnx")


def _shaped(shape: Shape, numbers: Numbers, base: Path) -> tuple[Shape, Tensor | None]:
    """The sizes, with those that the base decides; and the word vectors to start from, if any."""
    shape = replace(shape, vocabulary=json.loads((base / CONFIG).read_text("utf-8"))["vocab_size"])
    if numbers.table != "base":
        return shape, None
    table = read_bert(base).embeddings["word_embeddings"].weight.detach()
    return replace(shape, words=table.shape[1]), table


def _people(pack: Path, arrays: Arrays, shape: Shape) -> Arrays:
    path = beside(pack, PEOPLE)
    if not path.exists():
        raise CitewellError(f"there is no {path}; citewell.train.authors makes it of the pack's sets")
    people = load(path)
    if str(people["pack"]) != word(arrays) or int(people["people"]) != shape.people:
        raise CitewellError(f"{path} was made for another pack, or for another number of people; make it anew")
    return people


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), content(Path(sys.argv[3])), Path(sys.argv[4]))
