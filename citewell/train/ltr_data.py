"""Adapting the learned combination to data sets: signals of candidates for their dev questions, then trees over them.

What was collected of each set and task is kept in ``examples``, so that a training that was killed goes on, and one with other
numbers for the trees need not ask again.
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
from citewell.evaluate.outcomes import Watcher
from citewell.evaluate.queries import judged_queries
from citewell.evaluate.sets import DataSet
from citewell.fuse.ltr import LTR
from citewell.library.add import Progress
from citewell.models.ltr_network import network_path
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.train.card import CARD, LICENCE, write_json
from citewell.train.fingerprints import digest
from citewell.train.ltr import Examples, Hiding, collect, held_back, learn, measured, write
from citewell.train.recipe import FusionRecipe

EXAMPLES = "examples"
HELD_BACK, TOGETHER = "held back, among those with an answer to find", "together"


def train(
    recipe: FusionRecipe,
    sets: Sequence[Path],
    out: Path,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Collect, learn and write the trees of every task that the sets have; says what came of it."""
    started = time.monotonic()
    stage = _combination(recipe.pipeline)
    _check_installed(recipe)
    datasets = [DataSet.open(folder) for folder in sets]
    if not datasets:
        raise CitewellError("name the sets to train on: --set DIR")
    adapting = Adapting(recipe, stage, datasets, out, progress, watcher)
    (out / EXAMPLES).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            made = {task: about for task in recipe.tasks if (about := adapting.task(task))}
    except Timeout:
        raise CitewellError(f"{out} is being trained into; wait for that to end, or name another folder") from None
    if not made:
        raise CitewellError(f"the dev years of the sets ask nothing of the tasks {', '.join(recipe.tasks)} that can be found")
    _write_card(recipe, made, out)
    return {"recipe": recipe.name, "out": str(out), "tasks": made, "seconds": round(time.monotonic() - started, 1)}


@dataclass(frozen=True)
class Adapting:
    """One training of a combination."""

    recipe: FusionRecipe
    stage: LTR
    datasets: Sequence[DataSet]
    out: Path
    progress: Progress | None = None
    watcher: Watcher | None = None

    def task(self, task: str) -> dict[str, Any]:
        """Trees and network of a task, written; what is known of them, and nothing where there is nothing to learn from."""
        parts = [(dataset, found) for dataset in self.datasets if (found := self.collected(dataset, task)) is not None]
        if not parts:
            return {}
        numbers = {**self.recipe.trees, "uncited": self.recipe.uncited.get(task, 1.0)}
        hiding = Hiding(self.recipe.hidden, self.stage.depth)
        examples = Examples.joined([part for _, part in parts])
        trees, thought, about = learn(examples, numbers, hiding, self.recipe.seed)
        _, held = held_back(examples, self.recipe.seed)
        figures = {"trees": measured(thought, held)}
        path = network_path(self.out / f"{task}.npz")
        if self.recipe.network is None:
            path.unlink(missing_ok=True)
        else:
            from citewell.train.ltr_network import learn as learn_network

            network, also = learn_network(examples, self.recipe.network, task, hiding, self.recipe.seed)
            network.save(path)
            figures |= {"network": measured(also, held), TOGETHER: measured(thought + network.share * also, held)}
        about = {"sets": {dataset.name: len(part.sizes) for dataset, part in parts}, **about, HELD_BACK: figures}
        write(self.out, task, trees, about)
        return about

    def collected(self, dataset: DataSet, task: str) -> Examples | None:
        """Examples of one set and task, from the folder where they are kept or anew; None where no question can be answered."""
        if task not in dataset.tasks:
            return None
        recipe = self.recipe
        word = digest(dataset.files(), task, str(recipe.sample), str(recipe.seed), _made_by(self.stage))
        path = self.out / EXAMPLES / f"{task}-{word}.npz"
        if path.exists():
            return Examples.load(path)
        evaluation = Evaluation(dataset.folder, task, "dev", recipe.sample, recipe.seed)
        asks = judged_queries(evaluation.timeline, task, needed=False)
        found = collect(evaluation, self.stage, self.watcher) if asks else None
        if found is not None:
            part = path.with_name(f"part-of-{path.name}")
            found.save(part)
            part.rename(path)
        return found


def _write_card(recipe: FusionRecipe, made: dict[str, Any], out: Path) -> None:
    card = {
        "what": "trees, and a network beside them, that weigh every signal of candidates; one model a task",
        "recipe": msgspec.to_builtins(recipe),
        "sets": {task: about["sets"] for task, about in made.items()},
        "dev": {task: about[HELD_BACK] for task, about in made.items()},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, json.loads(json.dumps(card)))


def figures(about: dict[str, Any]) -> dict[str, float]:
    """R@10 and RR of the whole on the questions that were held back."""
    found: dict[str, dict[str, float]] = about[HELD_BACK]
    return found.get(TOGETHER, found["trees"])


def _made_by(stage: LTR) -> str:
    """What signals depend on: the stage, and the weights of the pipelines that it puts together."""
    parts = (part for part in (*stage.of, *stage.also) if isinstance(part, Pipeline))
    words = {name: word for part in parts for name, word in part.fingerprints().items()}
    return f"{stage.key} {sorted(words.items())}"


def _combination(name: str) -> LTR:
    stage = pipeline(name).stages[0]
    if not isinstance(stage, LTR):
        raise CitewellError(
            f"the pipeline {name!r} does not begin with a learned combination; name one in the recipe that does"
        )
    return stage


def _check_installed(recipe: FusionRecipe) -> None:
    for needed in ("lightgbm", *(["torch"] if recipe.network else [])):
        if find_spec(needed) is None:
            raise CitewellError(f"the recipe {recipe.name!r} needs {needed}; install it with: pip install 'citewell[train]'")
