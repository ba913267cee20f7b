"""Adapting the learned combination to data sets: signals of candidates for their dev questions, then trees over them.

What was collected of each set and task is kept in ``examples``, so that a training that was killed goes on, and one with other
numbers for the trees need not ask again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.experiment import Watcher
from citewell.evaluate.questions import questions
from citewell.evaluate.sets import DataSet
from citewell.fuse.learned import Learned
from citewell.library.adding import Progress
from citewell.pipeline import Pipeline, pipeline
from citewell.train.about import CARD, LICENCE, write_json
from citewell.train.digests import digest
from citewell.train.fusion import Examples, collect, learn, write
from citewell.train.recipe import FusionRecipe

EXAMPLES = "examples"


def train(
    recipe: FusionRecipe,
    sets: Sequence[Path],
    out: Path,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Collect, learn and write the trees of every task that the sets have; says what came of it."""
    started = time.monotonic()
    chosen = _with_combination(recipe.pipeline)
    _check_installed(recipe)
    datasets = [DataSet.open(folder) for folder in sets]
    if not datasets:
        raise CitewellError("name the sets to train on: --set DIR")
    (out / EXAMPLES).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            made = {}
            for task in recipe.tasks:
                parts = {}
                for dataset in datasets:
                    if task in dataset.tasks:
                        found = collected(recipe, dataset, task, chosen, out / EXAMPLES, progress, watcher)
                        if found is not None:
                            parts[dataset.name] = found
                if parts:
                    made[task] = _learned(recipe, task, parts, out)
    except Timeout:
        raise CitewellError(f"{out} is being trained into; wait for that to end, or name another folder") from None
    if not made:
        raise CitewellError(f"the dev years of the sets ask nothing of the tasks {', '.join(recipe.tasks)} that can be found")
    _write_card(recipe, made, out)
    return {"recipe": recipe.name, "out": str(out), "tasks": made, "seconds": round(time.monotonic() - started, 1)}


def collected(
    recipe: FusionRecipe,
    dataset: DataSet,
    task: str,
    chosen: Pipeline,
    folder: Path,
    progress: Progress | None = None,
    watcher: Watcher | None = None,
) -> Examples | None:
    """Examples of one set and task, from the folder where they are kept; None where no question can be answered."""
    name = digest(dataset.files(), task, str(recipe.sample), str(recipe.seed), repr(chosen.stages))
    path = folder / f"{task}-{name}.npz"
    if path.exists():
        return Examples.load(path)
    evaluation = Evaluation(dataset.folder, task, "dev", recipe.sample, recipe.seed, progress=progress)
    if not questions(evaluation.timeline, task, needed=False):
        return None
    found = collect(evaluation, chosen, watcher)
    if found is None:
        return None
    part = folder / f"part-of-{path.name}"
    found.save(part)
    part.rename(path)
    return found


def _learned(recipe: FusionRecipe, task: str, parts: dict[str, Examples], out: Path) -> dict[str, Any]:
    trees, about = learn(Examples.joined(list(parts.values())), recipe.trees, recipe.seed)
    about = {"sets": {name: len(part.sizes) for name, part in parts.items()}, **about}
    write(out, task, trees, about)
    return about


def _write_card(recipe: FusionRecipe, made: dict[str, Any], out: Path) -> None:
    card = {
        "what": "trees that weigh every signal of candidates, one model a task",
        "recipe": msgspec.to_builtins(recipe),
        "sets": {task: about["sets"] for task, about in made.items()},
        "dev": {task: figures(about) for task, about in made.items()},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, json.loads(json.dumps(card)))


def figures(about: dict[str, Any]) -> dict[str, float]:
    """R@10 and RR on the questions that were held back."""
    found: dict[str, float] = about["held back, among those with an answer to find"]
    return found


def _with_combination(name: str) -> Pipeline:
    found = pipeline(name)
    if not isinstance(found.stages[0], Learned):
        raise CitewellError(
            f"the pipeline {name!r} does not begin with a learned combination; name one in the recipe that does"
        )
    return found


def _check_installed(recipe: FusionRecipe) -> None:
    if find_spec("lightgbm") is None:
        raise CitewellError(f"the recipe {recipe.name!r} needs lightgbm; install it with: pip install 'citewell[train]'")
