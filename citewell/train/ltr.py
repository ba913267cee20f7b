"""Trains the trees of learning to rank: LightGBM's lambdarank over the features of candidates.

The queries are those of the dev years, on which no encoder was trained: on its training queries, an encoder's own feature would
look better than it is. One query in five is held out for early stopping; the final model uses all. Some queries are repeated
with hidden features, without vectors or without author names, so that the trees can handle a library whose vectors are not
ready and a draft without authors. Relevant papers without citations can have a larger weight: they are few, and the trees would
otherwise learn that uncited papers are never relevant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.evaluation import Evaluation
from citewell.fuse.features import CITATIONS
from citewell.fuse.ltr import LTR
from citewell.models.trees import Trees
from citewell.pipeline.pipeline import Pipeline
from citewell.progress import SILENT, Progress
from citewell.train.recipe import HiddenFeatures

_FOLDS = 5
_OWN_PARAMETERS = ("rounds", "patience", "uncited")
"""Parameters of a recipe that are not LightGBM's."""
_ARRAYS = ("rows", "labels", "sizes")


@dataclass
class Examples:
    """The candidates of queries, query by query."""

    names: tuple[str, ...]
    rows: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int8]
    sizes: npt.NDArray[np.int64]
    """The number of candidates of each query."""

    def save(self, stream: BinaryIO) -> None:
        np.savez(stream, names=np.array(self.names), **{part: getattr(self, part) for part in _ARRAYS})

    @classmethod
    def load(cls, path: Path) -> Examples:
        with np.load(path, allow_pickle=False) as arrays:
            return cls(tuple(arrays["names"].tolist()), **{part: arrays[part] for part in _ARRAYS})

    @classmethod
    def joined(cls, parts: Sequence[Examples]) -> Examples:
        return cls(parts[0].names, **{part: np.concatenate([getattr(each, part) for each in parts]) for part in _ARRAYS})

    def select(self, chosen: npt.NDArray[np.bool_]) -> Examples:
        rows = np.repeat(chosen, self.sizes)
        return Examples(self.names, self.rows[rows], self.labels[rows], self.sizes[chosen])

    def without(self, features: Sequence[str], depth: int) -> Examples:
        """The examples with some features, or all features of some pipelines, missing.

        Papers that no other pipeline has in its top `depth` are no longer candidates; queries without a relevant candidate are
        dropped.
        """
        hidden = [any(name in _columns(each) for each in features) for name in self.names]
        ranks = [name.endswith(" rank") and not hide for name, hide in zip(self.names, hidden, strict=True)]
        mask = (self.rows[:, ranks] <= np.float32(math.log(depth))).any(axis=1)  # a missing rank (NaN) compares false
        owners = np.repeat(np.arange(len(self.sizes)), self.sizes)[mask]
        rows = self.rows[mask]
        rows[:, hidden] = np.nan
        sizes = np.bincount(owners, minlength=len(self.sizes))
        left = Examples(self.names, rows, self.labels[mask], sizes)
        return left.select(np.bincount(owners, weights=left.labels, minlength=len(sizes)) > 0)


@dataclass(frozen=True)
class FeatureDropout:
    """Features to hide, and how often."""

    hidden: tuple[HiddenFeatures, ...] = ()
    depth: int = 150
    """Candidates per pipeline."""

    def augment(self, examples: Examples, seed: int) -> Examples:
        """The examples, plus a sample of their queries again with hidden features."""
        random = np.random.default_rng(seed)
        parts = [examples]
        for each in self.hidden:
            sampled = random.random(len(examples.sizes)) < each.share
            parts.append(examples.select(sampled).without(each.features, self.depth))
        return Examples.joined(parts)


def _columns(feature: str) -> tuple[str, ...]:
    """The columns of a feature, or of all features of a pipeline."""
    return (feature, f"{feature} rank", f"{feature} score", f"{feature} below best")


def is_uncited(examples: Examples) -> npt.NDArray[np.bool_]:
    """Which candidates have no citations."""
    if CITATIONS not in examples.names:
        return np.zeros(len(examples.labels), bool)
    return np.asarray(examples.rows[:, examples.names.index(CITATIONS)] == 0)


def collect(evaluation: Evaluation, stage: LTR, progress: Progress = SILENT) -> Examples | None:
    """The features of the candidates for every query of an evaluation, and their relevance.

    None if no query has a relevant candidate.
    """
    queries = evaluation.queries()
    names: tuple[str, ...] = ()
    rows, labels, sizes = [], [], []
    progress.start("collecting features", len(queries), "queries")
    for runner, group in runners_by_date(queries, evaluation.libraries(), [Pipeline("", "", (stage,))]):
        for judged in group:
            papers, table = stage.candidate_features(runner.request(judged))
            relevant = np.isin(papers, runner.relevant_papers(judged))
            if relevant.any():
                names = table.names
                rows.append(table.rows.astype(np.float32))
                labels.append(relevant.astype(np.int8))
                sizes.append(len(papers))
            progress.advance()
    return Examples(names, np.concatenate(rows), np.concatenate(labels), np.array(sizes)) if rows else None


def train_trees(
    examples: Examples, parameters: dict[str, Any], dropout: FeatureDropout, seed: int
) -> tuple[Trees, npt.NDArray[np.float64], dict[str, Any]]:
    """The trees, the scores of the held-out queries by a model trained without them, and a summary."""
    import lightgbm

    settings = lightgbm_settings(parameters, seed)
    training, held_out = hold_out(examples, seed)
    first = lightgbm.train(
        settings,
        _data(lightgbm, dropout.augment(training, seed)),
        int(parameters.get("rounds", 600)),
        valid_sets=[_data(lightgbm, held_out)],
        callbacks=[lightgbm.early_stopping(int(parameters.get("patience", 40)), verbose=False)],
    )
    rounds = int(first.best_iteration or 1)
    held_out_scores = np.asarray(first.predict(held_out.rows, num_iteration=rounds))
    final = lightgbm.train(settings, _data(lightgbm, dropout.augment(examples, seed)), max(1, round(rounds * 1.1)))
    gains = dict(zip(examples.names, final.feature_importance("gain").tolist(), strict=True))
    total = sum(gains.values()) or 1.0
    about = {
        "queries": len(examples.sizes),
        "candidates": len(examples.labels),
        "rounds": rounds,
        "gains": {name: round(gain / total, 4) for name, gain in sorted(gains.items(), key=lambda pair: -pair[1])},
    }
    return trees_of(final, examples.names), held_out_scores, about


def lightgbm_settings(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """The settings of LightGBM for a recipe's parameters."""
    return {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "verbose": -1,
        "seed": seed,
        "deterministic": True,
        "num_threads": 2,
        "label_gain": [0.0, 1.0, float(parameters.get("uncited", 1.0))],
        **{key: value for key, value in parameters.items() if key not in _OWN_PARAMETERS},
    }


def trees_of(booster: Any, names: Sequence[str]) -> Trees:
    """The trees of a booster that was trained on features with these names."""
    # LightGBM does not allow spaces in names.
    return Trees.of_lightgbm({**booster.dump_model(), "feature_names": list(names)})


def _data(lightgbm: Any, examples: Examples) -> Any:
    # Relevant papers without citations are a grade of their own.
    grades = examples.labels + (examples.labels & is_uncited(examples))
    return lightgbm.Dataset(examples.rows, grades, group=examples.sizes, free_raw_data=False)


def hold_out(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """The queries to learn from, and one in five that is held out."""
    held_out = np.random.default_rng(seed).permutation(len(examples.sizes)) % _FOLDS == 0
    return examples.select(~held_out), examples.select(held_out)


def measure(scores: npt.NDArray[np.float64], examples: Examples) -> dict[str, float]:
    """R@10 relative to the relevant candidates, and RR."""
    recall, reciprocal = [], []
    start = 0
    for size in examples.sizes.tolist():
        order = np.argsort(-scores[start : start + size], kind="stable")
        relevant = examples.labels[start : start + size][order]
        recall.append(relevant[:10].sum() / relevant.sum())
        reciprocal.append(1 / (1 + int(np.argmax(relevant))))
        start += size
    return {"R@10": round(float(np.mean(recall)), 4), "RR": round(float(np.mean(reciprocal)), 4)}


def write(folder: Path, name: str, trees: Trees, about: dict[str, Any]) -> None:
    """Write the trees and their summary."""
    folder.mkdir(parents=True, exist_ok=True)
    trees.save(folder / f"{name}.npz")
    (folder / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
