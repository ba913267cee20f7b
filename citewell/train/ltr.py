"""Training the learned combination: LightGBM's lambdarank over the signals of candidates for questions whose answers are known.

The questions are those of dev years, which no encoder was trained on: on questions that it has seen, its own signal would look
better than it is. Every fifth of them is held back to tell when to stop; then all are used. Some of them teach twice, the
second time without what needs an encoder's vectors, or the names of the authors, so that the trees also know what to make of a
library whose vectors are not ready, and of a draft that does not say who writes it. A right paper that nobody has cited yet may
count for more than others: there are few of them, and the trees would else learn that what is not cited is never wanted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.outcomes import Watcher
from citewell.fuse.features import CITATIONS
from citewell.fuse.ltr import LTR
from citewell.models.trees import Trees
from citewell.pipeline.pipeline import Pipeline
from citewell.train.recipe import Hidden

_HELD_BACK = 5
_OURS = ("rounds", "patience", "uncited")
"""The numbers of the trees that are not LightGBM's."""
_PARTS = ("rows", "labels", "sizes")


@dataclass
class Examples:
    """Candidates of questions, one question's behind the other's."""

    names: tuple[str, ...]
    rows: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int8]
    sizes: npt.NDArray[np.int64]
    """How many candidates each question has."""

    def save(self, path: Path) -> None:
        np.savez(path, names=np.array(self.names), **{part: getattr(self, part) for part in _PARTS})

    @classmethod
    def load(cls, path: Path) -> Examples:
        with np.load(path, allow_pickle=False) as found:
            return cls(tuple(found["names"].tolist()), **{part: found[part] for part in _PARTS})

    @classmethod
    def joined(cls, parts: Sequence[Examples]) -> Examples:
        return cls(parts[0].names, **{part: np.concatenate([getattr(each, part) for each in parts]) for part in _PARTS})

    def of_questions(self, chosen: npt.NDArray[np.bool_]) -> Examples:
        rows = np.repeat(chosen, self.sizes)
        return Examples(self.names, self.rows[rows], self.labels[rows], self.sizes[chosen])

    def without(self, signals: Sequence[str], depth: int) -> Examples:
        """As they would be without some signals: those of pipelines that find and score nothing, and others.

        Questions that are left with no answer are dropped.

        Papers that none of the others has among its `depth` best are no candidates then.
        """
        hidden = [any(f"{name} ".startswith(f"{each} ") for each in signals) for name in self.names]
        ranks = [name.endswith(" rank") and not hide for name, hide in zip(self.names, hidden, strict=True)]
        kept = (self.rows[:, ranks] <= np.float32(math.log(depth))).any(axis=1)  # what is missing is no rank
        owners = np.repeat(np.arange(len(self.sizes)), self.sizes)[kept]
        rows = self.rows[kept]
        rows[:, hidden] = np.nan
        sizes = np.bincount(owners, minlength=len(self.sizes))
        left = Examples(self.names, rows, self.labels[kept], sizes)
        return left.of_questions(np.bincount(owners, weights=left.labels, minlength=len(sizes)) > 0)


@dataclass(frozen=True)
class Hiding:
    """Which signals are hidden from the trees, and how often."""

    hidden: tuple[Hidden, ...] = ()
    depth: int = 150
    """How many of the best of each pipeline are candidates."""

    def added(self, examples: Examples, seed: int) -> Examples:
        """The examples, and shares of their questions once more as they would be without some signals."""
        random = np.random.default_rng(seed)
        parts = [examples]
        for each in self.hidden:
            drawn = random.random(len(examples.sizes)) < each.share
            parts.append(examples.of_questions(drawn).without(each.signals, self.depth))
        return Examples.joined(parts)


def never_cited(examples: Examples) -> npt.NDArray[np.bool_]:
    """Which candidates nobody has cited."""
    if CITATIONS not in examples.names:
        return np.zeros(len(examples.labels), bool)
    return np.asarray(examples.rows[:, examples.names.index(CITATIONS)] == 0)


def collect(evaluation: Evaluation, stage: LTR, watcher: Watcher | None = None) -> Examples | None:
    """The signals of the candidates for every question of an evaluation, and which of them are right.

    None where no question has an answer among its candidates.
    """
    questions = evaluation.queries()
    names: tuple[str, ...] = ()
    rows, labels, sizes = [], [], []
    if watcher:
        watcher.asking(len(questions))
    for runner, group in runners_by_date(questions, evaluation.libraries(), [Pipeline("", "", (stage,))]):
        for question in group:
            papers, table = stage.candidate_features(runner.request(question))
            right = np.isin(papers, runner.relevant_papers(question))
            if right.any():
                names = table.names
                rows.append(table.rows.astype(np.float32))
                labels.append(right.astype(np.int8))
                sizes.append(len(papers))
            if watcher:
                watcher.asked(1)
    return Examples(names, np.concatenate(rows), np.concatenate(labels), np.array(sizes)) if rows else None


def learn(
    examples: Examples, parameters: dict[str, Any], hiding: Hiding, seed: int
) -> tuple[Trees, npt.NDArray[np.float64], dict[str, Any]]:
    """Trees, what those of most questions thought of the ones that were held back, and what is known of them."""
    import lightgbm

    settings = _settings(parameters, seed)
    some, others = held_back(examples, seed)
    first = lightgbm.train(
        settings,
        _data(lightgbm, hiding.added(some, seed)),
        int(parameters.get("rounds", 600)),
        valid_sets=[_data(lightgbm, others)],
        callbacks=[lightgbm.early_stopping(int(parameters.get("patience", 40)), verbose=False)],
    )
    rounds = int(first.best_iteration or 1)
    thought = np.asarray(first.predict(others.rows, num_iteration=rounds))
    whole = lightgbm.train(settings, _data(lightgbm, hiding.added(examples, seed)), max(1, round(rounds * 1.1)))
    gains = dict(zip(examples.names, whole.feature_importance("gain").tolist(), strict=True))
    total = sum(gains.values()) or 1.0
    about = {
        "questions": len(examples.sizes),
        "candidates": len(examples.labels),
        "rounds": rounds,
        "gains": {name: round(gain / total, 4) for name, gain in sorted(gains.items(), key=lambda pair: -pair[1])},
    }
    return _trees(whole, examples), thought, about


def _settings(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "verbose": -1,
        "seed": seed,
        "deterministic": True,
        "num_threads": 2,
        "label_gain": [0.0, 1.0, float(parameters.get("uncited", 1.0))],
        **{key: value for key, value in parameters.items() if key not in _OURS},
    }


def _trees(booster: Any, examples: Examples) -> Trees:
    # Names may hold no space for LightGBM.
    return Trees.of_lightgbm({**booster.dump_model(), "feature_names": list(examples.names)})


def _data(lightgbm: Any, examples: Examples) -> Any:
    # Of the right papers those that nobody has cited yet are a class of their own.
    grades = examples.labels + (examples.labels & never_cited(examples))
    return lightgbm.Dataset(examples.rows, grades, group=examples.sizes, free_raw_data=False)


def held_back(examples: Examples, seed: int) -> tuple[Examples, Examples]:
    """The questions to learn from, and a fifth of all that are held back."""
    held = np.random.default_rng(seed).permutation(len(examples.sizes)) % _HELD_BACK == 0
    return examples.of_questions(~held), examples.of_questions(held)


def measured(scores: npt.NDArray[np.float64], examples: Examples) -> dict[str, float]:
    """R@10 among the right papers that are candidates, and RR."""
    recall, reciprocal = [], []
    start = 0
    for size in examples.sizes.tolist():
        order = np.argsort(-scores[start : start + size], kind="stable")
        right = examples.labels[start : start + size][order]
        recall.append(right[:10].sum() / right.sum())
        reciprocal.append(1 / (1 + int(np.argmax(right))))
        start += size
    return {"R@10": round(float(np.mean(recall)), 4), "RR": round(float(np.mean(reciprocal)), 4)}


def write(folder: Path, name: str, trees: Trees, about: dict[str, Any]) -> None:
    """Trees, and what is known of them."""
    folder.mkdir(parents=True, exist_ok=True)
    trees.save(folder / f"{name}.npz")
    (folder / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
