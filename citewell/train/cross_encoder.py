"""Trains the cross-encoder, which reads a query and a candidate together and scores the pair.

Candidates come from our own retrieval: among the papers that the encoder retrieves for a query, one relevant paper and some of
the others. Relevant papers that the encoder does not retrieve are not used: next to retrieved ones they would teach that
dissimilar papers are relevant. A large model is trained first; a small one, initialised from some of its layers, learns from
the labels and from the scores of the large one. Needs only numpy and torch:
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
from citewell.progress import SILENT, Progress
from citewell.train import losses
from citewell.train.batches import Texts
from citewell.train.bert import WEIGHTS, Bert, read_bert, write_bert
from citewell.train.card import RECIPE, write_record
from citewell.train.checkpoints import Checkpoint, training_fingerprint
from citewell.train.encoder import CHECKPOINT, Hyperparameters, Training, choose_device, export_onnx, parse_section
from citewell.train.packs import load
from citewell.train.recipe_files import load as load_recipe
from citewell.train.steps import Steps

LARGE = "-large"
"""Suffix of the name under which the large model is served."""
_QUERY_BATCH = 32


@dataclass(frozen=True)
class CrossHyperparameters:
    """The settings of a recipe."""

    steps: int = 1500
    lists: int = 128
    """Queries per step."""
    length: int = 16
    """Candidates per query, including the positive."""
    rate: float = 1e-4
    warmup: float = 0.05
    decay: float = 0.01
    layers: tuple[int, ...] = ()
    """The layers of the large model that initialise the small one; none: no small model."""
    small_steps: int = 1500
    small_rate: float = 1.5e-4
    teacher: float = 1.0
    """The weight of the large model's scores in the loss of the small one."""
    dev_queries: int = 300
    dev_depth: int = 50
    dev_every: int = 500


SECTIONS = {"numbers": Hyperparameters, "cross": CrossHyperparameters}
"""The sections of a recipe."""


class CrossEncoder(nn.Module):
    """Pairs of texts to scores."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert
        self.head = nn.Linear(bert.config["hidden_size"], 1)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor, places: Tensor | None = None) -> Tensor:
        hidden = self.bert(ids, mask, kinds, places)[:, 0]
        scores: Tensor = self.head(hidden.float())[:, 0]
        return scores


class Pairs:
    """Pairs of queries and papers as token ids."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def __call__(self, queries: Tensor, papers: Tensor, years: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Each query joined with each paper of its row: ids, mask, segments and positions."""
        length = papers.shape[1]
        query_tokens = self._texts.queries(queries)
        paper_tokens = self._texts.papers(papers.flatten(), years.repeat_interleave(length))
        ids = torch.cat([query_tokens.ids.repeat_interleave(length, 0), paper_tokens.ids[:, 1:]], dim=1)
        mask = torch.cat([query_tokens.mask.repeat_interleave(length, 0), paper_tokens.mask[:, 1:]], dim=1)
        kinds = torch.zeros_like(ids)
        kinds[:, query_tokens.ids.shape[1] :] = 1
        # Padding between query and paper does not count as a position.
        places = (mask.cumsum(1) - 1).clamp(min=0)
        return ids, mask, kinds, places


class Listwise:
    """Listwise training of one cross-encoder on candidates that an encoder retrieves."""

    def __init__(
        self,
        model: CrossEncoder,
        retriever: Training,
        pairs: Pairs,
        numbers: CrossHyperparameters,
        teacher: CrossEncoder | None = None,
    ) -> None:
        self.model, self._retriever, self._pairs, self._numbers = model, retriever, pairs, numbers
        self._teacher = None if teacher is None else teacher.eval()

    def before(self, step: int) -> dict[str, float]:
        """Retrieve the candidates once, before the first step."""
        return {} if self._retriever.has_mined else self._retriever.mine(with_relevant=True)

    def loss(self) -> Tensor:
        """The listwise loss, plus distillation from the teacher if there is one."""
        queries, papers, relevant = self._sample()
        texts = self._pairs(queries, papers, self._retriever.pack_queries.year[queries])
        scores = self._scores(self.model, texts).view(papers.shape)
        loss = losses.listwise(scores, relevant)
        if self._teacher is None:
            return loss
        with torch.no_grad():
            teacher_scores = self._scores(self._teacher, texts).view(papers.shape)
        return loss + self._numbers.teacher * losses.distillation(scores, teacher_scores, 1.0)

    def _sample(self) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of one set and task, a sample of their candidates with a relevant one first, and which are relevant."""
        mined_queries, mined_papers = self._retriever.sample_mined()
        places = torch.randperm(len(mined_queries), device=mined_queries.device)[: self._numbers.lists]
        queries, papers = mined_queries[places], mined_papers[places]
        relevant = self._retriever.pack_queries.relevant(queries, papers)
        noise = torch.rand(papers.shape, device=papers.device)
        first = torch.where(relevant, noise, -1.0).argmax(1, keepdim=True)
        order = noise.scatter(1, first, 2.0).argsort(1, descending=True)[:, : self._numbers.length]
        return queries, papers.gather(1, order), relevant.gather(1, order).float()

    def _scores(self, model: Callable[..., Tensor], texts: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
        kind = self._retriever.device.type
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            scores: Tensor = model(*texts)
        return scores

    @torch.no_grad()
    def dev(self) -> dict[str, float]:
        """R@10 and RR on dev after re-ranking the encoder's candidates."""
        self.model.eval()
        retriever, numbers = self._retriever, self._numbers
        figures: dict[str, float] = {}
        for group in retriever.pack_queries.groups("dev"):
            pool = retriever.pack_queries.pool(group.set, group.sentences)
            before = int(retriever.arrays["train_until"][group.set]) + 1
            vectors = retriever.dev_vectors(group.set, group.sentences, pool, before)
            queries = group.queries[: numbers.dev_queries]
            best = torch.cat(
                list(retriever.pack_queries.top_papers(queries, pool, vectors, retriever.query_vectors, numbers.dev_depth))
            )
            parts = zip(queries.split(_QUERY_BATCH), best.split(_QUERY_BATCH), strict=True)
            ranked = torch.cat([self._ranked(batch, papers, before) for batch, papers in parts])
            relevant = retriever.pack_queries.relevant(queries, ranked)
            recall = (relevant[:, :10].sum(1) / retriever.pack_queries.relevant_counts(queries)).mean()
            first = torch.where(relevant.any(1), 1 / (relevant.float().argmax(1) + 1), 0.0).mean()
            name = group.name(retriever.arrays)
            figures |= {f"{name} R@10": round(recall.item(), 4), f"{name} RR": round(first.item(), 4)}
        return figures

    def _ranked(self, queries: Tensor, papers: Tensor, before: int) -> Tensor:
        """Each row of papers sorted by score; -1 (no paper) last."""
        texts = self._pairs(queries, papers.clamp(min=0), torch.full_like(queries, before))
        scores = self._scores(self.model, texts).view(papers.shape).masked_fill(papers < 0, float("-inf"))
        return papers.gather(1, scores.argsort(1, descending=True))


def fit(
    pack: Path, encoder: Path, recipe: Mapping[str, Any], out: Path, device: str = "", progress: Progress = SILENT
) -> CrossEncoder:
    """Train a cross-encoder from a pack and the encoder that retrieves its candidates; resumes from a checkpoint."""
    chosen = choose_device(device)
    numbers = parse_section(CrossHyperparameters, recipe, "cross")
    retriever = Training(
        load(pack), encoder, parse_section(Hyperparameters, recipe, "numbers"), Inputs.read(encoder) or Inputs(), chosen
    )
    inputs = Inputs(**recipe.get("inputs", {}))
    pairs = Pairs(Texts(retriever.arrays, inputs, chosen))
    whole = training_fingerprint(recipe, [pack, encoder / WEIGHTS], chosen)

    def train(learning: Listwise, folder: Path, steps: int, rate: float) -> CrossEncoder:
        optimizer = torch.optim.AdamW(learning.model.parameters(), rate, weight_decay=numbers.decay)
        made = Steps(learning.model, optimizer, retriever, folder, Checkpoint(folder / CHECKPOINT, whole, chosen), progress)
        made.run(steps, rate, numbers.warmup, learning.loss, learning.dev, numbers.dev_every, learning.before, clip=1.0)
        save(learning.model, folder)
        write_record(folder, inputs, recipe, retriever.arrays, encoder)
        return learning.model

    first = CrossEncoder(read_bert(encoder)).to(chosen)
    large = train(Listwise(first, retriever, pairs, numbers), out / "large", numbers.steps, numbers.rate)
    if not numbers.layers:
        return large
    second = with_layers(large, numbers.layers).to(chosen)
    return train(Listwise(second, retriever, pairs, numbers, large), out / "small", numbers.small_steps, numbers.small_rate)


def with_layers(large: CrossEncoder, layers: tuple[int, ...]) -> CrossEncoder:
    """A cross-encoder with some of the layers of another."""
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
    """Write the weights in Hugging Face's layout, with the head as classifier."""
    write_bert(model.bert, folder, {"classifier.weight": model.head.weight, "classifier.bias": model.head.bias})


def export(weights: Path, target: Path) -> None:
    """Write the served form of the small model, and of the large one under its name with ``-large``."""
    recipe = json.loads((weights / "large" / RECIPE).read_text("utf-8"))
    what = "a cross-encoder of query-paper pairs: one score per pair, int8 ONNX"
    inputs = Inputs.read(weights / "large") or Inputs()
    max_tokens = inputs.query + inputs.paper
    if parse_section(CrossHyperparameters, recipe, "cross").layers:
        export_onnx(weights / "small", target, what, max_tokens)
        target = target.with_name(f"{target.name}{LARGE}")
    export_onnx(weights / "large", target, what, max_tokens)


if __name__ == "__main__":
    fit(Path(sys.argv[1]), Path(sys.argv[2]), load_recipe(sys.argv[3]), Path(sys.argv[4]))
