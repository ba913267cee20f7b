"""Training the learned combination: LightGBM's lambdarank over the signals of candidates for questions whose answers are known.

The questions are those of dev years, which no encoder was trained on: on questions that it has seen, its own signal would look
better than it is. Every fifth of them is held back to tell when to stop; then all are used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.evaluate.bench import Bench
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.experiment import Watcher
from citewell.evaluate.strict import Cutoff
from citewell.fuse.learned import Learned
from citewell.models.trees import Trees
from citewell.pipeline import Pipeline
from citewell.retrieve.scoring import load_compiled

_HELD_BACK = 5


@dataclass
class Examples:
    """Candidates of questions, one question's behind the other's."""

    names: tuple[str, ...]
    rows: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int8]
    sizes: npt.NDArray[np.int64]
    """How many candidates each question has."""

    def save(self, path: Path) -> None:
        np.savez(path, names=np.array(self.names), rows=self.rows, labels=self.labels, sizes=self.sizes)

    @classmethod
    def load(cls, path: Path) -> Examples:
        with np.load(path, allow_pickle=False) as found:
            return cls(tuple(found["names"].tolist()), found["rows"], found["labels"], found["sizes"])

    @classmethod
    def joined(cls, parts: Sequence[Examples]) -> Examples:
        return cls(
            parts[0].names,
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.sizes for part in parts]),
        )

    def of_questions(self, chosen: npt.NDArray[np.bool_]) -> Examples:
        rows = np.repeat(chosen, self.sizes)
        return Examples(self.names, self.rows[rows], self.labels[rows], self.sizes[chosen])


def collect(evaluation: Evaluation, pipeline: Pipeline, watcher: Watcher | None = None) -> Examples | None:
    """The signals of a pipeline's candidates for every question of an evaluation, and which of them are right.

    None where no question has an answer among its candidates.
    """
    stage = pipeline.stages[0]
    assert isinstance(stage, Learned)
    questions = sorted(evaluation.questions(), key=lambda question: question.date)
    pools = evaluation.pools()
    names: tuple[str, ...] = ()
    rows, labels, sizes = [], [], []
    if watcher:
        watcher.asking(len(questions))
    load_compiled()
    with pools.at(sorted({question.date for question in questions}), [pipeline]) as libraries:
        for library, (date, group) in zip(libraries, groupby(questions, key=lambda question: question.date), strict=True):
            bench = Bench(library, pools.naming, Cutoff(date, pools.links_until), [], False, False)
            for question in group:
                wanted = bench.wanted(question)
                papers, table = stage.signals(bench.request(question))
                right = np.isin(papers, wanted)
                if right.any():
                    names = table.names
                    rows.append(table.rows.astype(np.float32))
                    labels.append(right.astype(np.int8))
                    sizes.append(len(papers))
                if watcher:
                    watcher.asked(1)
    if not rows:
        return None
    return Examples(names, np.concatenate(rows), np.concatenate(labels), np.array(sizes))


def learn(examples: Examples, parameters: dict[str, Any], seed: int) -> tuple[Trees, dict[str, Any]]:
    """Trees, and how they did on the questions that were held back while their number was chosen."""
    import lightgbm

    settings = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "verbose": -1,
        "seed": seed,
        "deterministic": True,
        "num_threads": 2,
        **{key: value for key, value in parameters.items() if key not in ("rounds", "patience")},
    }
    held = np.random.default_rng(seed).permutation(len(examples.sizes)) % _HELD_BACK == 0
    some, others = examples.of_questions(~held), examples.of_questions(held)
    first = lightgbm.train(
        settings,
        _data(lightgbm, some),
        int(parameters.get("rounds", 600)),
        valid_sets=[_data(lightgbm, others)],
        callbacks=[lightgbm.early_stopping(int(parameters.get("patience", 40)), verbose=False)],
    )
    rounds = int(first.best_iteration or 1)
    recall, first_ranks = _measured(np.asarray(first.predict(others.rows, num_iteration=rounds)), others)
    whole = lightgbm.train(settings, _data(lightgbm, examples), max(1, round(rounds * 1.1)))
    gains = dict(zip(examples.names, whole.feature_importance("gain").tolist(), strict=True))
    total = sum(gains.values()) or 1.0
    about = {
        "questions": len(examples.sizes),
        "candidates": len(examples.labels),
        "rounds": rounds,
        "held back, among those with an answer to find": {"R@10": recall, "RR": first_ranks},
        "gains": {name: round(gain / total, 4) for name, gain in sorted(gains.items(), key=lambda pair: -pair[1])},
    }
    # Names may hold no space for LightGBM.
    trees = Trees.of_lightgbm({**whole.dump_model(), "feature_names": list(examples.names)})
    return trees, about


def _data(lightgbm: Any, examples: Examples) -> Any:
    return lightgbm.Dataset(examples.rows, examples.labels, group=examples.sizes, free_raw_data=False)


def _measured(scores: npt.NDArray[np.float64], examples: Examples) -> tuple[float, float]:
    """R@10 among the right papers that are candidates, and RR."""
    recall, reciprocal = [], []
    start = 0
    for size in examples.sizes.tolist():
        order = np.argsort(-scores[start : start + size], kind="stable")
        right = examples.labels[start : start + size][order]
        recall.append(right[:10].sum() / right.sum())
        reciprocal.append(1 / (1 + int(np.argmax(right))))
        start += size
    return round(float(np.mean(recall)), 4), round(float(np.mean(reciprocal)), 4)


def write(folder: Path, task: str, trees: Trees, about: dict[str, Any]) -> None:
    """Trees of one task, and what is known of them."""
    folder.mkdir(parents=True, exist_ok=True)
    trees.save(folder / f"{task}.npz")
    (folder / f"{task}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
