"""Trains a stack of Medić's models on one pack: each with its own negatives, regime and seed, all in the same steps.

Every model is trained as `citewell.train.enhanced_context` trains it alone: its own pairs and negatives, the weights with the
best dev measure, and nothing shared but the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from citewell.errors import CitewellError
from citewell.models.enhanced_context import Shape
from citewell.models.inputs import Inputs
from citewell.progress import SILENT, Progress
from citewell.train.batches import check_layout
from citewell.train.card import write_record
from citewell.train.checkpoints import Checkpoint, training_fingerprint
from citewell.train.curve import BEST, copy_part
from citewell.train.encoder import CHECKPOINT, choose_device, parse_section
from citewell.train.enhanced_context import (
    Hyperparameters,
    PackReader,
    complete_shape,
    dev_candidates,
    load_bibliography,
    save,
    training_pairs,
)
from citewell.train.lists import CandidateLists, ranking_measures, sort_by_score
from citewell.train.negatives import Negatives, NegativeSampling
from citewell.train.pack_queries import PackQueries
from citewell.train.packs import Arrays, load
from citewell.train.set_balance import PairSampler
from citewell.train.sidecars import AUTHORS, sidecar_path
from citewell.train.stacked_network import StackedNetwork
from citewell.train.steps import Steps

_DEV_ROWS = 250
"""Candidates of each model that are scored at once; with 1000, 32 models took 98 GB of a GPU."""
_SAVED = 4
"""A checkpoint, of gigabytes, is saved with every fourth measure."""
_SCALE = 4096.0
"""What gradients are multiplied by on a GPU, which computes in half precision: small ones would vanish."""


@dataclass(frozen=True)
class Member:
    """One model of a stack: its name, and the sections of its recipe."""

    name: str
    recipe: Mapping[str, Any]
    numbers: Hyperparameters
    sampling: NegativeSampling
    shape: Shape

    @classmethod
    def of(cls, name: str, recipe: Mapping[str, Any], shape: Shape) -> Member:
        numbers, sampling = (
            parse_section(Hyperparameters, recipe, "numbers"),
            parse_section(NegativeSampling, recipe, "negatives"),
        )
        return cls(name, recipe, numbers, sampling, shape)


class StackedTraining:
    """Samples the pairs and negatives of every model, and measures each on dev."""

    def __init__(
        self,
        arrays: Arrays,
        model: StackedNetwork,
        members: Sequence[Member],
        bibliography: Arrays | None,
        lists: Mapping[str, CandidateLists],
        device: torch.device,
    ) -> None:
        self.arrays, self.model, self.members, self._device = arrays, model, members, device
        self._numbers = members[0].numbers
        self._reader = PackReader(arrays, bibliography, model.shapes[0], device)
        self.pack_queries = PackQueries(arrays, device)
        self._values = [-1.0] * len(members)
        self._best: dict[str, Tensor] = {}
        self._pairs, self._pair_samplers, self._dev, self._samplers = [], [], [], []
        same: dict[NegativeSampling, Negatives] = {}
        for member in members:
            of_member = lists.get(member.sampling.first_stage)
            sampler = same.setdefault(
                replace(member.sampling, regime="standard"), Negatives(arrays, self.pack_queries, member.sampling, of_member)
            )
            self._samplers.append(sampler)
            pairs = training_pairs(arrays, self.pack_queries, member.numbers, member.sampling, of_member)
            self._pairs.append(pairs)
            self._pair_samplers.append(PairSampler(arrays, pairs[0], member.numbers.balanced_sets))
            self._dev.append(dev_candidates(arrays, self.pack_queries, member.numbers, member.sampling, of_member))
        torch.manual_seed(self._numbers.seed)

    def state(self) -> dict[str, Any]:
        """What further steps depend on, apart from torch's random numbers."""
        return {"values": self._values, "best": self._best}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._values, self._best = list(state["values"]), dict(state["best"])

    def loss(self) -> Tensor:
        """The sum of the losses of all models, whose weights are apart."""
        numbers = self._numbers
        places = [sampler.draw(numbers.pairs) for sampler in self._pair_samplers]
        chosen = [(queries[at], positives[at]) for (queries, positives), at in zip(self._pairs, places, strict=True)]
        queries = torch.stack([each for each, _ in chosen])
        negatives = self._negatives(queries)
        papers = torch.cat([torch.stack([positives for _, positives in chosen])[:, :, None], negatives], dim=2)
        scores = self.scores(queries, papers, self.pack_queries.year[queries])
        present = (negatives >= 0).float()
        margins = torch.tensor([each.numbers.margin for each in self.members], device=self._device)[:, None, None]
        losses = functional.relu(scores[:, :, 1:] - scores[:, :, :1] + margins) * present
        loss = (losses.sum((1, 2)) / present.sum((1, 2)).clamp(min=1)).sum()
        scaled: Tensor = _ScaledGradient.apply(loss, gradient_scale(self._device))
        return scaled

    def _negatives(self, queries: Tensor) -> Tensor:
        """Negatives of every model; those with the same sampling are drawn at once."""
        drawn: dict[int, Tensor] = {}
        for sampler in dict.fromkeys(self._samplers):
            members = [at for at, each in enumerate(self._samplers) if each is sampler]
            rows = sampler.draw(queries[members].flatten(), self._numbers.negatives).view(len(members), *queries.shape[1:], -1)
            drawn |= dict(zip(members, rows, strict=True))
        return torch.stack([drawn[at] for at in range(len(self._samplers))])

    def scores(self, queries: Tensor, papers: Tensor, before: Tensor) -> Tensor:
        """The scores of (models, queries, candidates) papers, as they were known before a year."""
        read = self._reader.papers(papers.clamp(min=0).flatten(), before.flatten().repeat_interleave(papers.shape[2]))
        with torch.autocast(self._device.type, torch.float16, enabled=self._device.type == "cuda"):
            scores: Tensor = self.model(self._reader.queries(queries.flatten()), read)
        return scores.float()

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR of every model after re-ranking its candidates; the best weights so far are kept."""
        self.model.eval()
        figures: dict[str, float] = {}
        reciprocal: list[list[float]] = [[] for _ in self.members]
        for groups in zip(*self._dev, strict=True):
            # Models with fewer queries or candidates are padded; padding is never measured.
            queries, papers = _padded([queries for _, queries, _ in groups]), _padded([papers for _, _, papers in groups])
            until = int(self.arrays["train_until"][groups[0][0].set])
            before = self.pack_queries.year[queries].clamp(max=until + 1)
            each = max(1, _DEV_ROWS // papers.shape[2])
            parts = zip(*(part.split(each, dim=1) for part in (queries, papers, before)), strict=True)
            scores = torch.cat([self.scores(*part) for part in parts], dim=1)
            for at, (group, own_queries, own_papers) in enumerate(groups):
                rows, columns = own_papers.shape
                ranked = sort_by_score(own_papers, scores[at, :rows, :columns])
                measures = ranking_measures(self.pack_queries, own_queries, ranked)
                name = f"{self.members[at].name} {group.name(self.arrays)}"
                figures |= {f"{name} {key}": measures[key] for key in ("R@10", "RR")}
                reciprocal[at].append(measures["RR"])
        return figures | self._keep_best([sum(values) / max(1, len(values)) for values in reciprocal])

    def _keep_best(self, values: Sequence[float]) -> dict[str, float]:
        """Save the weights of the models that are better than before; returns what the curve says of them."""
        better: dict[str, float] = {}
        weights = dict(self.model.named_parameters())
        for name, weight in weights.items():
            self._best.setdefault(name, weight.detach().clone())
        for at, value in enumerate(values):
            if value > self._values[at]:
                self._values[at] = value
                better[f"{self.members[at].name} {BEST}"] = round(value, 4)
                for name, weight in weights.items():
                    self._best[name][at] = weight.detach()[at]
        return better

    def load_best(self) -> None:
        """Load the best weights of every model."""
        if self._best:
            self.model.load_state_dict(self._best)


def fit(
    names: Sequence[str],
    recipes: Sequence[Mapping[str, Any]],
    pack: Path,
    base: Path,
    out: Path,
    device: str = "",
    progress: Progress = SILENT,
) -> StackedNetwork:
    """Train recipes that differ in variant, negatives, regime, margin and seed; each gets a folder of weights in `out`."""
    chosen = choose_device(device)
    if chosen.type == "cuda":
        torch.set_float32_matmul_precision("high")
    arrays = load(pack)
    for recipe in recipes:
        check_layout(arrays, Inputs(**recipe.get("inputs", {})))
    numbers = [parse_section(Hyperparameters, recipe, "numbers") for recipe in recipes]
    if len({replace(each, margin=0.0, seed=0) for each in numbers}) != 1:
        raise CitewellError("recipes of one stack may differ in [numbers] in nothing but margin and seed; train others apart")
    shape, table = complete_shape(parse_section(Shape, recipes[0], "shape"), numbers[0], base)
    members = [
        Member.of(name, recipe, replace(shape, variant=parse_section(Shape, recipe, "shape").variant))
        for name, recipe in zip(names, recipes, strict=True)
    ]
    model = StackedNetwork([each.shape for each in members], [each.seed for each in numbers], table, numbers[0].fixed_words)
    model = model.to(chosen)
    with_authors = any(each.shape.parts.bibliography for each in members)
    bibliography = load_bibliography(pack, arrays, shape) if with_authors else None
    stages = sorted({each.sampling.first_stage for each in members} - {""})
    lists = {stage: CandidateLists.read(pack, arrays, stage, chosen) for stage in stages}
    training = StackedTraining(arrays, model, members, bibliography, lists, chosen)
    # Adam divides by the size of gradients: scaled ones give the same steps if its epsilon is scaled too.
    optimizer = torch.optim.Adam(model.parameters(), numbers[0].rate, eps=1e-8 * gradient_scale(chosen))
    files = [pack, *(sidecar_path(pack, name) for name in [*([AUTHORS] if with_authors else []), *stages])]
    checkpoint = Checkpoint(
        out / CHECKPOINT, training_fingerprint({"stack": [dict(each) for each in recipes]}, files, chosen), chosen
    )
    steps = Steps(model, optimizer, training, out, checkpoint, progress)
    every = numbers[0].dev_every
    steps.run(
        numbers[0].steps, numbers[0].rate, numbers[0].warmup, training.loss, training.dev, every, save_every=_SAVED * every
    )
    training.load_best()
    for at, member in enumerate(members):
        folder = out / member.name
        save(model.model(at), folder)
        write_record(folder, Inputs(**member.recipe.get("inputs", {})), member.recipe, arrays, base)
        copy_part(out, member.name, folder)
    return model


class _ScaledGradient(torch.autograd.Function):
    """A value as it is, its gradient multiplied by a number."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * ctx.scale, None


def gradient_scale(device: torch.device) -> float:
    """What gradients are multiplied by on a device."""
    return _SCALE if device.type == "cuda" else 1.0


def _padded(rows: Sequence[Tensor]) -> Tensor:
    """Tensors of the models as one, with their first row repeated or -1 after each."""
    shape = [max(sizes) for sizes in zip(*(each.shape for each in rows), strict=True)]
    padded = []
    for each in rows:
        fill = torch.full(shape, -1, dtype=each.dtype, device=each.device) if each.dim() > 1 else each[:1].repeat(*shape)
        fill[tuple(slice(size) for size in each.shape)] = each
        padded.append(fill)
    return torch.stack(padded)
