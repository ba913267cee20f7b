"""Trains learning to rank on data sets: collects features for the dev queries, then trains trees and network for each task.

The features of each set and task are saved in ``examples``, so that an interrupted training resumes, and a training with other
settings need not collect them again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import judged_queries
from citewell.evaluate.sets import DataSet
from citewell.files import replaced
from citewell.fuse.ltr import LTR
from citewell.models.ltr_network import network_path
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.progress import SILENT, Progress
from citewell.train.card import CARD, LICENCE, write_json
from citewell.train.fingerprints import fingerprint
from citewell.train.ltr import Examples, FeatureDropout, collect, hold_out, measure, train_trees, write
from citewell.train.recipe import LtrRecipe
from citewell.train.training import train_missing

EXAMPLES = "examples"
HELD_OUT, ENSEMBLE = "held-out queries with a relevant candidate", "ensemble"


def train(
    recipe: LtrRecipe,
    sets: Sequence[Path],
    out: Path,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Collect, train and write the models of every task that the sets have; returns a summary."""
    started = time.monotonic()
    stage = ltr_stage(recipe.pipeline)
    check_installed(recipe)
    datasets = [DataSet.open(folder) for folder in sets]
    if not datasets:
        raise CitewellError("name the sets to train on: --set DIR")
    training = LtrTraining(recipe, stage, datasets, out, progress)
    (out / EXAMPLES).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            trained = {task: about for task in recipe.tasks if (about := training.task(task))}
    except Timeout:
        raise CitewellError(f"another training is writing to {out}; wait for it to end, or choose another folder") from None
    if not trained:
        raise CitewellError(
            f"the dev years of the sets have no query with a relevant candidate of the tasks {', '.join(recipe.tasks)}"
        )
    _write_card(recipe, trained, out)
    return {"recipe": recipe.name, "out": str(out), "tasks": trained, "seconds": round(time.monotonic() - started, 1)}


@dataclass(frozen=True)
class LtrTraining:
    """One training of learning to rank."""

    recipe: LtrRecipe
    stage: LTR
    datasets: Sequence[DataSet]
    out: Path
    progress: Progress = SILENT

    def task(self, task: str) -> dict[str, Any]:
        """Train and write the trees and the network of a task; returns a summary, empty if there is nothing to learn from."""
        parts = [(dataset, part) for dataset in self.datasets if (part := self.examples(dataset, task)) is not None]
        if not parts:
            return {}
        numbers = {**self.recipe.trees, "uncited": self.recipe.uncited.get(task, 1.0)}
        dropout = FeatureDropout(self.recipe.hidden, self.stage.depth)
        examples = Examples.joined([part for _, part in parts])
        trees, tree_scores, about = train_trees(examples, numbers, dropout, self.recipe.seed)
        _, held_out = hold_out(examples, self.recipe.seed)
        figures = {"trees": measure(tree_scores, held_out)}
        path = network_path(self.out / f"{task}.npz")
        if self.recipe.network is None:
            path.unlink(missing_ok=True)
        else:
            from citewell.train.ltr_network import train_network

            network, network_scores = train_network(examples, self.recipe.network, task, dropout, self.recipe.seed)
            network.save(path)
            figures |= {
                "network": measure(network_scores, held_out),
                ENSEMBLE: measure(tree_scores + network.share * network_scores, held_out),
            }
        about = {"sets": {dataset.name: len(part.sizes) for dataset, part in parts}, **about, HELD_OUT: figures}
        write(self.out, task, trees, about)
        return about

    def examples(self, dataset: DataSet, task: str) -> Examples | None:
        """The examples of one set and task, saved or newly collected; None if no query has a relevant candidate."""
        if task not in dataset.tasks:
            return None
        recipe = self.recipe
        key = fingerprint(dataset.files(), task, str(recipe.sample), str(recipe.seed), _feature_origin(self.stage))
        path = self.out / EXAMPLES / f"{task}-{key}.npz"
        if path.exists():
            return Examples.load(path)
        evaluation = Evaluation(dataset.folder, task, "dev", recipe.sample, recipe.seed, train=train_missing)
        has_queries = judged_queries(evaluation.timeline, task, needed=False)
        examples = collect(evaluation, self.stage, self.progress) if has_queries else None
        if examples is not None:
            with replaced(path, durable=False) as part, part.open("wb") as stream:
                examples.save(stream)
        return examples


def _write_card(recipe: LtrRecipe, trained: dict[str, Any], out: Path) -> None:
    card = {
        "what": "learning to rank: an ensemble of trees and a network over the features of candidates; one model per task",
        "recipe": msgspec.to_builtins(recipe),
        "sets": {task: about["sets"] for task, about in trained.items()},
        "dev": {task: about[HELD_OUT] for task, about in trained.items()},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, json.loads(json.dumps(card)))


def figures(about: dict[str, Any]) -> dict[str, float]:
    """R@10 and RR of the full model on the held-out queries."""
    figures: dict[str, dict[str, float]] = about[HELD_OUT]
    return figures.get(ENSEMBLE, figures["trees"])


def _feature_origin(stage: LTR) -> str:
    """What features depend on: the stage, and the weights of its pipelines."""
    fingerprints: dict[str, str] = {}
    for part in (*stage.of, *stage.also):
        if isinstance(part, Pipeline):
            fingerprints |= part.fingerprints()
    return f"{stage.key} {sorted(fingerprints.items())}"


def ltr_stage(name: str) -> LTR:
    """The first stage of a pipeline, which learning to rank trains."""
    stage = pipeline(name).stages[0]
    if not isinstance(stage, LTR):
        raise CitewellError(
            f"the pipeline {name!r} does not begin with a stage of the kind 'ltr'; name one that does in the recipe"
        )
    return stage


def check_installed(recipe: LtrRecipe) -> None:
    """Raise an error that says how to install what a recipe needs."""
    for needed in ("lightgbm", *(["torch"] if recipe.network else [])):
        if find_spec(needed) is None:
            raise CitewellError(f"the recipe {recipe.name!r} needs {needed}; install it with: pip install 'citewell[train]'")
