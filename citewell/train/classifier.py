"""Nogueira's classifier: a BERT that reads query and candidate together and predicts whether one cites the other.

It is trained with cross-entropy on the top ten candidates of a first stage: cited candidates are positives, the others
negatives, without balancing. Query and candidate are plain texts, title and abstract; the longer one loses tokens at its end
until both fit. The result is served as a cross-encoder. ``python -m citewell.train.classifier PACK BASE RECIPE OUT``.
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
from citewell.progress import SILENT, Progress
from citewell.train import losses
from citewell.train.bert import WEIGHTS, read_bert
from citewell.train.card import write_record
from citewell.train.checkpoints import BestWeights, Checkpoint, training_fingerprint
from citewell.train.cross_encoder import CrossEncoder, save
from citewell.train.encoder import CHECKPOINT, choose_device, export_onnx, parse_section
from citewell.train.lists import CandidateLists, ranking_measures, sort_by_score, spread
from citewell.train.negatives import Negatives, NegativeSampling, missing_relevant
from citewell.train.pack_queries import Group, PackQueries
from citewell.train.packs import TASKS, Arrays, load
from citewell.train.recipe_files import load as load_recipe
from citewell.train.set_balance import PairSampler
from citewell.train.sidecars import sidecar_path
from citewell.train.steps import Steps

_PAIR_BATCH = 256
_PARTS = 2
"""Batches are read in so many parts, by length: more of them pad less, and leave more of a GPU idle."""


@dataclass(frozen=True)
class Hyperparameters:
    """The settings of a recipe."""

    steps: int = 300_000
    pairs: int = 128
    """Pairs of a query and a candidate per step."""
    top: int = 10
    """Candidates per query."""
    task: str = "global"
    first_stage: str = "bm25"
    """The pipeline that retrieves the candidates; its lists are a sidecar of the pack."""
    sample: int = 0
    """Train queries per set; 0: all."""
    missed_positives: bool = False
    """Whether relevant papers that the first stage missed are positives too, as in the experiment on class imbalance."""
    random_negatives: int = 0
    """Papers drawn at random that are negatives too, for each query: the other half of that experiment."""
    balanced_sets: bool = False
    """Whether every set gives as many pairs, whatever its size."""
    rate: float = 3e-6
    warmup: float = 0.033
    decay: float = 0.01
    dropout: float = 0.1
    dev_every: int = 5000
    dev_queries: int = 200
    dev_depth: int = 100
    seed: int = 1


SECTIONS = {"numbers": Hyperparameters}
"""The sections of a recipe."""


class PlainPairs:
    """Pairs of a query and a paper as token ids: title and abstract of both, without anything else."""

    def __init__(self, arrays: Arrays, inputs: Inputs, device: torch.device) -> None:
        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name].astype("int64")).to(device)

        self._inputs = inputs
        self._cls, self._sep = arrays["special"].tolist()[:2]
        self._tokens, self._at = tensor("tokens"), tensor("text_at")
        self._query = tensor("question_title"), tensor("question_abstract")
        self._paper = tensor("paper_title"), tensor("paper_abstract")

    def lengths(self, queries: Tensor, papers: Tensor) -> tuple[Tensor, Tensor]:
        """The tokens that are read of the queries and of the papers."""
        first, second = self._whole(self._query, queries), self._whole(self._paper, papers)
        first, second = first.clamp(max=self._inputs.query), second.clamp(max=self._inputs.paper)
        size = self._inputs.pair - 3
        half = size // 2
        over = first + second > size
        cut_second = torch.where(first <= size - half, size - first, half)
        cut_first = torch.where(second <= half, size - second, size - half)
        return torch.where(over & (first > size - half), cut_first, first), torch.where(
            over & (second > half), cut_second, second
        )

    def __call__(self, queries: Tensor, papers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and segments of pairs."""
        first, second = self.lengths(queries, papers)
        whole = first + second + 3
        columns = torch.arange(int(whole.max()), device=whole.device).expand(len(whole), -1)
        start = (first + 2)[:, None]
        ids = torch.where(
            columns < start, self._read(self._query, queries, columns - 1), self._read(self._paper, papers, columns - start)
        )
        separators = (columns == start - 1) | (columns == whole[:, None] - 1)
        ids = torch.where(separators, self._sep, ids).index_fill(1, columns[0, :1], self._cls)
        mask = columns < whole[:, None]
        return torch.where(mask, ids, 0), mask, (mask & (columns >= start)).long()

    def _whole(self, parts: tuple[Tensor, Tensor], rows: Tensor) -> Tensor:
        titles, abstracts = (self._at[part[rows] + 1] - self._at[part[rows]] for part in parts)
        return titles + abstracts

    def _read(self, parts: tuple[Tensor, Tensor], rows: Tensor, places: Tensor) -> Tensor:
        """The tokens at these places of title and abstract; any token outside of them."""
        title, abstract = (self._at[part[rows]][:, None] for part in parts)
        length = self._at[parts[0][rows] + 1][:, None] - title
        at = torch.where(places < length, title + places, abstract + places - length)
        return self._tokens[at.clamp(0, len(self._tokens) - 1)]


class Training:
    """Samples labelled pairs, and measures on dev."""

    def __init__(
        self,
        arrays: Arrays,
        model: CrossEncoder,
        numbers: Hyperparameters,
        inputs: Inputs,
        lists: CandidateLists,
        device: torch.device,
    ) -> None:
        torch.manual_seed(numbers.seed)
        self.arrays, self.model, self.numbers = arrays, model, numbers
        self.pack_queries, self._pairs, self._device = PackQueries(arrays, device), PlainPairs(arrays, inputs, device), device
        self.best = BestWeights(model)
        groups = self._groups("train")
        queries = torch.cat([group.queries for group in groups]) if groups else torch.zeros(0, dtype=torch.int64, device=device)
        rows = lists.rows(queries)[:, : numbers.top]
        if numbers.missed_positives:
            rows = torch.cat([rows, missing_relevant(arrays, self.pack_queries, queries, rows)], dim=1)
        if numbers.random_negatives:
            sampler = Negatives(arrays, self.pack_queries, NegativeSampling())
            drawn = [sampler.draw(batch, numbers.random_negatives) for batch in queries.split(_PAIR_BATCH)]
            rows = torch.cat([rows, *([torch.cat(drawn)] if drawn else [])], dim=1)
        present = rows >= 0
        self.queries, self.papers = queries[:, None].expand_as(rows)[present], rows[present]
        self.labels = self.pack_queries.relevant(queries, rows)[present].float()
        if not self.labels.any():
            raise CitewellError(f"no relevant paper is among the top {numbers.top} of the first stage; use more queries")
        self._sampler = PairSampler(arrays, self.queries, numbers.balanced_sets)
        self._dev = []
        for group in self._groups("dev"):
            listed = spread(group.queries[lists.has_list(group.queries)], numbers.dev_queries)
            self._dev.append((group, listed, lists.rows(listed)[:, : numbers.dev_depth]))

    def state(self) -> dict[str, Any]:
        """What further steps depend on, apart from torch's random numbers."""
        return {"best": self.best.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.best.restore(state["best"])

    def loss(self) -> Tensor:
        """The loss of one batch of pairs."""
        places = self._sampler.draw(self.numbers.pairs)
        return losses.binary(self._scores(self.queries[places], self.papers[places]), self.labels[places])

    def _scores(self, queries: Tensor, papers: Tensor) -> Tensor:
        """The scores of pairs, read in parts of similar length: padding costs as much as text."""
        order = sum(self._pairs.lengths(queries, papers)).argsort()
        parts = order.chunk(_PARTS)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            scores = torch.cat([self.model(*self._pairs(queries[part], papers[part])) for part in parts])
        return scores[order.argsort()]

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR after re-ranking the candidates of the first stage."""
        self.model.eval()
        figures: dict[str, float] = {}
        for group, queries, rows in self._dev:
            if not len(queries):
                continue
            both = queries[:, None].expand_as(rows).flatten(), rows.clamp(min=0).flatten()
            parts = zip(*(part.split(_PAIR_BATCH) for part in both), strict=True)
            scores = torch.cat([self._scores(*part) for part in parts]).view(rows.shape)
            measures = ranking_measures(self.pack_queries, queries, sort_by_score(rows, scores))
            figures |= {f"{group.name(self.arrays)} {key}": measures[key] for key in ("R@10", "RR")}
        firsts = [value for key, value in figures.items() if key.endswith(" RR")]
        return figures | self.best.update(sum(firsts) / len(firsts) if firsts else 0.0)

    def _groups(self, split: str) -> list[Group]:
        task = TASKS.index(self.numbers.task)
        return [group for group in self.pack_queries.groups(split) if group.task == task and not group.sentences]


def fit(
    pack: Path, base: Path, recipe: Mapping[str, Any], out: Path, device: str = "", progress: Progress = SILENT
) -> CrossEncoder:
    """Train a classifier from a pack, its candidate lists and pretrained weights; resumes from a checkpoint."""
    chosen = choose_device(device)
    numbers, inputs = parse_section(Hyperparameters, recipe, "numbers"), Inputs(**recipe.get("inputs", {}))
    if not inputs.pair:
        raise CitewellError("a classifier reads pairs of plain texts; say how many tokens: pair in [inputs]")
    arrays = load(pack)
    torch.manual_seed(numbers.seed)
    model = CrossEncoder(read_bert(base, numbers.dropout)).to(chosen)
    lists = CandidateLists.read(pack, arrays, numbers.first_stage, chosen)
    training = Training(arrays, model, numbers, inputs, lists, chosen)
    optimizer = torch.optim.AdamW(model.parameters(), numbers.rate, weight_decay=numbers.decay)
    files = [pack, base / WEIGHTS, sidecar_path(pack, numbers.first_stage)]
    checkpoint = Checkpoint(out / CHECKPOINT, training_fingerprint(recipe, files, chosen), chosen)
    steps = Steps(model, optimizer, training, out, checkpoint, progress)
    steps.run(
        numbers.steps, numbers.rate, numbers.warmup, training.loss, training.dev, numbers.dev_every, clip=1.0, decline="linear"
    )
    training.best.load_best()
    save(model, out)
    write_record(out, inputs, recipe, arrays, base)
    return model


def export(weights: Path, target: Path) -> None:
    """Write the served model, which is a cross-encoder."""
    export_onnx(weights, target, "a classifier of query-paper pairs (Nogueira et al.): one score per pair, int8 ONNX")


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), load_recipe(sys.argv[3]), Path(sys.argv[4]))
