"""Adapting the learned combination to data sets: signals of candidates for their dev questions, then trees over them.

What was collected of each set and task is kept in ``examples``, so that a training that was killed goes on, and one with other
numbers for the trees need not ask again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.experiment import Watcher
from citewell.evaluate.questions import questions
from citewell.evaluate.sets import DataSet
from citewell.fuse.learned import READ, Learned
from citewell.library.adding import Progress
from citewell.models.trees import Trees
from citewell.pipeline import pipeline
from citewell.train.about import CARD, LICENCE, write_json
from citewell.train.digests import digest
from citewell.train.fusion import Examples, Hiding, collect, collect_read, learn, learn_apart, write
from citewell.train.recipe import FusionRecipe

EXAMPLES = "examples"

Parts = list[tuple[DataSet, Examples]]
"""What was collected of each set."""


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
            made = {name: about for task in recipe.tasks for name, about in adapting.task(task).items()}
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
    stage: Learned
    datasets: Sequence[DataSet]
    out: Path
    progress: Progress | None = None
    watcher: Watcher | None = None

    def task(self, task: str) -> dict[str, dict[str, Any]]:
        """The trees of a task, and the second ones where there are readers, written; what is known of them by their names."""
        parts = [(dataset, found) for dataset in self.datasets if (found := self.collected(dataset, task)) is not None]
        if not parts:
            return {}
        trees, about = learn(_joined(parts), self._numbers(task), self._hiding, self.recipe.seed)
        made = {task: self._write(task, trees, about, parts)}
        if self.stage.readers:
            read = self._read(task, parts, about["rounds"])
            second = self.recipe.second_trees or self.recipe.trees
            trees, about = learn(_joined(read), second, Hiding(), self.recipe.seed)
            made[f"{task}{READ}"] = self._write(f"{task}{READ}", trees, about, read)
        return made

    def collected(self, dataset: DataSet, task: str) -> Examples | None:
        """Examples of one set and task; None where no question can be answered."""
        if task not in dataset.tasks:
            return None

        def collect_anew() -> Examples | None:
            evaluation = self._evaluation(dataset, task)
            return collect(evaluation, self.stage, self.watcher) if questions(evaluation.timeline, task, needed=False) else None

        return self._kept(dataset, task, (_made_by(replace(self.stage, readers=())),), collect_anew)

    def _read(self, task: str, parts: Parts, rounds: int) -> Parts:
        """Examples of what the readers say of the best by first trees, of some of the questions."""
        recipe, start = self.recipe, 0
        made: Parts = []
        apart = learn_apart(_joined(parts), self._numbers(task), rounds, self._hiding, recipe.seed)
        for dataset, part in parts:
            drawn = np.random.default_rng(recipe.seed).permutation(len(part.places))[: recipe.read]
            first = {int(part.places[at]): apart[start + at] for at in drawn.tolist()}
            start += len(part.places)
            evaluation = self._evaluation(dataset, task)
            sets = [digest(each.files()) for each, _ in parts]
            made_of = (str(recipe.read), str(self._numbers(task)), str(rounds), str(self._hiding), *sets, _made_by(self.stage))
            found = self._kept(
                dataset, f"{task}{READ}", made_of, partial(collect_read, evaluation, self.stage, first, self.watcher)
            )
            if found is not None:
                made.append((dataset, found))
        if not made:
            raise CitewellError("no question has an answer among the candidates that are read; raise the recipe's 'sample'")
        return made

    def _evaluation(self, dataset: DataSet, task: str) -> Evaluation:
        return Evaluation(dataset.folder, task, "dev", self.recipe.sample, self.recipe.seed, progress=self.progress)

    def _numbers(self, task: str) -> dict[str, Any]:
        """Those of a task's trees."""
        return {**self.recipe.trees, "uncited": self.recipe.uncited.get(task, 1.0)}

    @property
    def _hiding(self) -> Hiding:
        return Hiding(self.recipe.hidden, self.stage.depth)

    def _kept(
        self, dataset: DataSet, name: str, made_of: tuple[str, ...], collect_anew: Callable[[], Examples | None]
    ) -> Examples | None:
        """Examples from the folder where they are kept, collected where there are none."""
        word = digest(dataset.files(), name, str(self.recipe.sample), str(self.recipe.seed), *made_of)
        path = self.out / EXAMPLES / f"{name}-{word}.npz"
        if path.exists():
            return Examples.load(path)
        found = collect_anew()
        if found is not None:
            part = path.with_name(f"part-of-{path.name}")
            found.save(part)
            part.rename(path)
        return found

    def _write(self, name: str, trees: Trees, about: dict[str, Any], parts: Parts) -> dict[str, Any]:
        about = {"sets": {dataset.name: len(part.sizes) for dataset, part in parts}, **about}
        write(self.out, name, trees, about)
        return about


def _joined(parts: Parts) -> Examples:
    return Examples.joined([part for _, part in parts])


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


def _made_by(stage: Learned) -> str:
    """What signals depend on: the stage, and the weights of the pipelines that it puts together."""
    words = {name: word for part in (*stage.of, *stage.also, *stage.readers) for name, word in part.weight_versions().items()}
    return f"{stage!r} {sorted(words.items())}"


def _combination(name: str) -> Learned:
    stage = pipeline(name).stages[0]
    if not isinstance(stage, Learned):
        raise CitewellError(
            f"the pipeline {name!r} does not begin with a learned combination; name one in the recipe that does"
        )
    return stage


def _check_installed(recipe: FusionRecipe) -> None:
    if find_spec("lightgbm") is None:
        raise CitewellError(f"the recipe {recipe.name!r} needs lightgbm; install it with: pip install 'citewell[train]'")
