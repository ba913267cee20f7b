"""Trains Medić's enhanced-context re-ranker on pairs of a context and a cited paper, with sampled negatives.

The positive must score higher than every negative by a margin. `citewell.train.negatives` chooses the pairs and the negatives;
the weights with the best dev measure are kept. Sidecars of the pack contain the authors and citations of its papers
(`citewell.train.authors`), if the variant reads them, and the lists of the first stage (`citewell.train.prefilter`), if the
recipe names one. Needs only numpy and torch: ``python -m citewell.train.enhanced_context PACK BASE RECIPE OUT``.
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

import torch
from torch import Tensor

from citewell.errors import CitewellError
from citewell.models.enhanced_context import FILE as SHAPE
from citewell.models.enhanced_context import PADDING, Shape
from citewell.models.enhanced_onnx import write_weights
from citewell.models.inputs import FILE as BUDGETS
from citewell.models.inputs import Inputs
from citewell.progress import SILENT, Progress
from citewell.train import losses
from citewell.train.batches import check_layout
from citewell.train.bert import CONFIG, read_bert
from citewell.train.bert import WEIGHTS as BERT_WEIGHTS
from citewell.train.card import TOKENIZER, write_card, write_record
from citewell.train.checkpoints import BestWeights, Checkpoint, training_fingerprint
from citewell.train.encoder import CHECKPOINT, choose_device, parse_section
from citewell.train.enhanced_network import CandidateBatch, Network, QueryBatch, Text
from citewell.train.lists import CandidateLists, ranking_measures, sort_by_score, spread
from citewell.train.negatives import Negatives, NegativeSampling, missing_relevant, pairs
from citewell.train.pack_queries import Group, PackQueries
from citewell.train.packs import TASKS, Arrays, load
from citewell.train.recipe_files import load as load_recipe
from citewell.train.set_balance import PairSampler
from citewell.train.sidecars import AUTHORS, pack_fingerprint, sidecar_path
from citewell.train.steps import Steps

_YEARS = 1 << 14
_QUERY_BATCH = 16


@dataclass(frozen=True)
class Hyperparameters:
    """The settings of a recipe."""

    steps: int = 10_000
    pairs: int = 30
    """Pairs of a context and a cited paper per step."""
    negatives: int = 10
    """Negatives per pair."""
    margin: float = 0.3
    rate: float = 1e-3
    warmup: float = 0.0
    task: str = "local"
    table: str = ""
    """``base``: start from the word vectors of the base; otherwise from random ones."""
    fixed_words: bool = False
    """Whether word vectors stay as they are."""
    balanced_sets: bool = False
    """Whether every set gives as many pairs, whatever its size."""
    dev_every: int = 500
    dev_queries: int = 300
    dev_depth: int = 100
    seed: int = 1


SECTIONS = {"numbers": Hyperparameters, "shape": Shape, "negatives": NegativeSampling}
"""The sections of a recipe."""


class PackReader:
    """Reads the queries and papers of a pack as tensors."""

    def __init__(self, arrays: Arrays, bibliography: Arrays | None, shape: Shape, device: torch.device) -> None:
        def tensor(name: str, source: Arrays) -> Tensor:
            return torch.from_numpy(source[name].astype("int64")).to(device)

        self._shape, self._device = shape, device
        self._tokens, self._at, self._gap = (tensor(name, arrays) for name in ("tokens", "text_at", "text_gap"))
        self._query = {name: tensor(f"question_{name}", arrays) for name in ("context", "title", "abstract")}
        self._paper = {name: tensor(f"paper_{name}", arrays) for name in ("title", "abstract")}
        self._bibliography = (
            {name: tensor(name, bibliography) for name in ("author_at", "authors", "cited_at")} if bibliography else {}
        )
        if bibliography:
            counts = self._bibliography["cited_at"].diff()
            papers = torch.repeat_interleave(torch.arange(len(counts), device=device), counts)
            self._cited = papers * _YEARS + tensor("cited_year", bibliography)

    def queries(self, numbers: Tensor) -> QueryBatch:
        """Queries with the positions of their gaps."""
        rows, size = self._query["context"][numbers], self._shape.context
        whole = self._at[rows + 1] - self._at[rows]
        first = torch.minimum(self._gap[rows] - size // 2, whole - size).clamp(min=0)
        context = self._joined([(self._at[rows] + first, whole.clamp(max=size))], size)
        citing = self._own(self._query["title"][numbers], self._query["abstract"][numbers])
        return QueryBatch(context, (self._gap[rows] - first).clamp(min=0), citing)

    def papers(self, numbers: Tensor, before: Tensor) -> CandidateBatch:
        """Papers as they were known before a year."""
        text = self._own(self._paper["title"][numbers], self._paper["abstract"][numbers])
        if not self._bibliography:
            nothing = torch.zeros(len(numbers), 0, device=self._device)
            return CandidateBatch(text, nothing.long(), nothing)
        return CandidateBatch(text, self._authors(numbers), self.cited(numbers, before))

    def cited(self, numbers: Tensor, before: Tensor) -> Tensor:
        """Citation counts of papers in each of the last years before `before`, latest first, then in total."""
        ends = [
            torch.searchsorted(self._cited, numbers * _YEARS + (before - back).clamp(0, _YEARS - 1))
            for back in range(self._shape.years + 1)
        ]
        recent = [late - early for late, early in pairwise(ends)]
        return torch.stack([*recent, ends[0] - torch.searchsorted(self._cited, numbers * _YEARS)], dim=1).float()

    def _authors(self, numbers: Tensor) -> Tensor:
        first, after = (self._bibliography["author_at"][numbers + step][:, None] for step in (0, 1))
        places = first + torch.arange(self._shape.authors, device=self._device)
        authors = self._bibliography["authors"]
        if not len(authors):
            return torch.full_like(places, PADDING)
        return torch.where(places < after, authors[places.clamp(max=len(authors) - 1)], PADDING)

    def _own(self, titles: Tensor, abstracts: Tensor) -> Text:
        """Title and abstract as one text, cut."""
        parts = [(self._at[rows], self._at[rows + 1] - self._at[rows]) for rows in (titles, abstracts)]
        return self._joined(parts, self._shape.text)

    def _joined(self, parts: list[tuple[Tensor, Tensor]], size: int) -> Text:
        """Join stretches of tokens (starts and lengths); an empty text becomes one padding token."""
        lengths = torch.stack([length for _, length in parts]).sum(0).clamp(max=size)
        width = max(1, int(lengths.max()))
        columns = torch.arange(width, device=self._device).expand(len(lengths), -1)
        source, ended = torch.zeros_like(columns), torch.zeros_like(lengths)
        for start, length in parts:
            source = torch.where(columns >= ended[:, None], start[:, None] + columns - ended[:, None], source)
            ended = ended + length
        ids = self._tokens[source.clamp(max=len(self._tokens) - 1)]
        return Text(torch.where(columns < lengths[:, None], ids, PADDING), lengths.clamp(min=1))


class Training:
    """Samples pairs with negatives, and measures on dev."""

    def __init__(
        self,
        arrays: Arrays,
        model: Network,
        numbers: Hyperparameters,
        sampling: NegativeSampling,
        bibliography: Arrays | None,
        lists: CandidateLists | None,
        device: torch.device,
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.arrays, self.model, self.numbers, self.sampling = arrays, model, numbers, sampling
        self.reader = PackReader(arrays, bibliography, model.shape, device)
        self.pack_queries = PackQueries(arrays, device)
        self.negatives = Negatives(arrays, self.pack_queries, sampling, lists)
        self.best = BestWeights(model)
        self.queries, self.positives = training_pairs(arrays, self.pack_queries, numbers, sampling, lists)
        self._sampler = PairSampler(arrays, self.queries, numbers.balanced_sets)
        self._dev = dev_candidates(arrays, self.pack_queries, numbers, sampling, lists)

    def state(self) -> dict[str, Any]:
        """What further steps depend on, apart from torch's random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """The loss of one batch of triplets."""
        places = self._sampler.draw(self.numbers.pairs)
        queries, positives = self.queries[places], self.positives[places]
        negatives = self.negatives.draw(queries, self.numbers.negatives)
        papers = torch.cat([positives[:, None], negatives], dim=1)
        scores = self.scores(queries, papers, self.pack_queries.year[queries])
        present = negatives >= 0
        if not present.any():  # none of these queries has a hard negative
            return scores.sum() * 0.0
        near = scores[:, :1].expand_as(negatives)[present]
        return losses.triplet(-near, -scores[:, 1:][present], self.numbers.margin)

    def scores(self, queries: Tensor, papers: Tensor, before: Tensor) -> Tensor:
        """The scores of rows of papers, as they were known before a year."""
        candidates = self.reader.papers(papers.clamp(min=0).flatten(), before.repeat_interleave(papers.shape[1]))
        scores: Tensor = self.model(self.reader.queries(queries), candidates)
        return scores

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR after re-ranking the candidates."""
        self.model.eval()
        figures: dict[str, float] = {}
        for group, queries, papers in self._dev:
            until = int(self.arrays["train_until"][group.set])
            before = self.pack_queries.year[queries].clamp(max=until + 1)
            parts = zip(*(part.split(_QUERY_BATCH) for part in (queries, papers, before)), strict=True)
            orders = [sort_by_score(rows, self.scores(batch, rows, years)) for batch, rows, years in parts]
            measures = ranking_measures(self.pack_queries, queries, torch.cat(orders))
            figures |= {f"{group.name(self.arrays)} {key}": measures[key] for key in ("R@10", "RR")}
        firsts = [value for key, value in figures.items() if key.endswith(" RR")]
        return figures | self.best.update(sum(firsts) / max(1, len(firsts)))


def training_pairs(
    arrays: Arrays,
    pack_queries: PackQueries,
    numbers: Hyperparameters,
    sampling: NegativeSampling,
    lists: CandidateLists | None,
) -> tuple[Tensor, Tensor]:
    """The pairs of a query of the train years and a paper that it cites, which a model learns from."""
    groups = _groups(pack_queries, numbers, "train")
    if not groups:
        raise CitewellError(f"the pack has no {numbers.task} query of the train years; pack other sets")
    queries = torch.cat([group.queries for group in groups])
    if lists is not None and sampling.needs_lists:
        queries = queries[lists.has_list(queries)]
    paired, positives = pairs(arrays, queries, sampling.regime, lists)
    if not len(paired):
        raise CitewellError("the first stage retrieved no relevant paper for any query; use the standard regime")
    return paired, positives


def dev_candidates(
    arrays: Arrays,
    pack_queries: PackQueries,
    numbers: Hyperparameters,
    sampling: NegativeSampling,
    lists: CandidateLists | None,
) -> list[tuple[Group, Tensor, Tensor]]:
    """Some dev queries of each group, and their candidates: from the first stage, or random papers without one.

    The standard regime adds the relevant papers; the strict one keeps only queries with a relevant candidate.
    """
    return [
        (group, *_candidates(group, arrays, pack_queries, numbers, sampling, lists))
        for group in _groups(pack_queries, numbers, "dev")
    ]


def _groups(pack_queries: PackQueries, numbers: Hyperparameters, split: str) -> list[Group]:
    task = TASKS.index(numbers.task)
    return [group for group in pack_queries.groups(split) if group.task == task and not group.sentences]


def _candidates(
    group: Group,
    arrays: Arrays,
    pack_queries: PackQueries,
    numbers: Hyperparameters,
    sampling: NegativeSampling,
    lists: CandidateLists | None,
) -> tuple[Tensor, Tensor]:
    if lists is None:
        queries = spread(group.queries, numbers.dev_queries)
        sampler = Negatives(arrays, pack_queries, NegativeSampling())
        torch.manual_seed(0)  # the same ones for every recipe
        rows = torch.cat([sampler.draw(batch, numbers.dev_depth) for batch in queries.split(32)])
        torch.manual_seed(numbers.seed)
    else:
        queries = spread(group.queries[lists.has_list(group.queries)], numbers.dev_queries)
        rows = lists.rows(queries)[:, : numbers.dev_depth]
    if sampling.regime == "strict":
        with_relevant = pack_queries.relevant(queries, rows).any(1)
        return queries[with_relevant], rows[with_relevant]
    return queries, torch.cat([rows, missing_relevant(arrays, pack_queries, queries, rows)], dim=1)


def fit(pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", progress: Progress = SILENT) -> Network:
    """Train a re-ranker from a pack and its sidecars; resumes from the last checkpoint.

    `base` provides the tokeniser and, if the recipe says so, word vectors.
    """
    chosen = choose_device(device)
    numbers, sampling = parse_section(Hyperparameters, recipe, "numbers"), parse_section(NegativeSampling, recipe, "negatives")
    arrays = load(pack)
    check_layout(arrays, Inputs(**recipe.get("inputs", {})))
    torch.manual_seed(numbers.seed)
    shape, table = complete_shape(parse_section(Shape, recipe, "shape"), numbers, base)
    sidecars = [sidecar_path(pack, name) for name in ([AUTHORS] if shape.parts.bibliography else [])]
    bibliography = load_bibliography(pack, arrays, shape) if shape.parts.bibliography else None
    lists = CandidateLists.read(pack, arrays, sampling.first_stage, chosen) if sampling.first_stage else None
    model = Network(shape, table).to(chosen)
    model.words.weight.requires_grad_(not numbers.fixed_words)
    training = Training(arrays, model, numbers, sampling, bibliography, lists, chosen)
    optimizer = torch.optim.Adam(model.parameters(), numbers.rate)
    files = [pack, *sidecars, *([sidecar_path(pack, sampling.first_stage)] if lists else [])]
    checkpoint = Checkpoint(out / CHECKPOINT, training_fingerprint(recipe, files, chosen), chosen)
    steps = Steps(model, optimizer, training, out, checkpoint, progress)
    steps.run(numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every)
    training.best.load_best()
    save(model, out)
    write_record(out, Inputs(**recipe.get("inputs", {})), recipe, arrays, base)
    return model


def save(model: Network, folder: Path) -> None:
    """Write weights and shape as `citewell.models.enhanced_onnx` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    model.shape.write(folder)
    write_weights(folder, {name: weight.detach().cpu().numpy() for name, weight in model.state_dict().items()})


def export(weights: Path, target: Path) -> None:
    """Write the served model: ONNX, shape, tokeniser and card."""
    from citewell.models.enhanced_onnx import convert

    target.mkdir(parents=True, exist_ok=True)
    for name in (SHAPE, TOKENIZER, *([BUDGETS] if (weights / BUDGETS).is_file() else [])):
        shutil.copyfile(weights / name, target / name)
    write_card(weights, target, "Medić's enhanced-context re-ranker of candidates for a citation context, ONNX")
    convert(weights, target / "model.onnx")


def complete_shape(shape: Shape, numbers: Hyperparameters, base: Path) -> tuple[Shape, Tensor | None]:
    """The shape, completed from the base model, and the initial word vectors, if any."""
    shape = replace(shape, vocabulary=json.loads((base / CONFIG).read_text("utf-8"))["vocab_size"])
    if numbers.table != "base":
        return shape, None
    table = word_vectors(base)
    return replace(shape, words=table.shape[1]), table


def word_vectors(base: Path) -> Tensor:
    """The vectors of a base of words, or those in the first layer of a transformer."""
    from safetensors.torch import load_file

    config = json.loads((base / CONFIG).read_text("utf-8"))
    if config.get("model_type") == "words":
        return load_file(base / BERT_WEIGHTS)["word_vectors"].float()
    return read_bert(base).embeddings["word_embeddings"].weight.detach()


def load_bibliography(pack: Path, arrays: Arrays, shape: Shape) -> Arrays:
    path = sidecar_path(pack, AUTHORS)
    if not path.exists():
        raise CitewellError(f"there is no {path}; citewell.train.authors makes it from the sets of the pack")
    bibliography = load(path)
    if str(bibliography["pack"]) != pack_fingerprint(arrays) or int(bibliography["people"]) != shape.people:
        raise CitewellError(f"{path} was made for another pack or another number of people; make it again")
    return bibliography


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), load_recipe(sys.argv[3]), Path(sys.argv[4]))
