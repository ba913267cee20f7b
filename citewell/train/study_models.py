"""The models that the rows of a study lack: lists them with the time that training takes, and trains them.

Weights go to a folder of ``$CITEWELL_MODELS`` (or the user's data folder) under their name once they are complete, so the next
run finds them; models of a library stay with the cached library of the set. An interrupted training resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from citewell import extras
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.sets import DataSet
from citewell.evaluate.studies import Study, Table
from citewell.library.library import Library
from citewell.models import weights
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline
from citewell.progress import SILENT, Progress
from citewell.train import estimates, from_evidence, from_sets, quick, training, words
from citewell.train.recipe import EvidenceRecipe, PackRecipe, Recipe, WordsRecipe, library_recipe, load_recipe, recipes

TRAINING = ".training"
"""The suffix of the folder of a model that is not complete yet."""


Conditions = tuple[tuple[str, Any], ...]
UNKNOWN = "?"
"""The base of weights whose pipeline does not name it."""


@dataclass(frozen=True)
class Lacking:
    """A model that rows of a study need and that is not there."""

    model: str
    recipe: str
    """The recipe that trains it; empty if there is none."""
    rows: tuple[str, ...]
    """The methods that need it."""
    sets: tuple[Path, ...]
    """The sets to train it on; of a library's model, the one set."""
    seconds: float = 0.0
    """An estimate of the time."""
    task: str = ""
    """Of a library's model: the task and split whose libraries need it."""
    split: str = ""
    conditions: Conditions = ()
    """Of a library's model: what the study changes in the set (`Table.conditions`)."""
    ends: tuple[int, ...] = ()
    """Of a library's model: the libraries that lack it, by the end of their year (yyyymmdd)."""
    encoder: Path | None = None
    """The initial weights, if not those of the recipe."""
    obstacle: str = ""
    """Why it cannot be trained here, and what to do."""


def lacking(
    study: Study, sets: Sequence[Path], sample: int | None = None, seed: int = 0, is_quick: bool = False
) -> list[Lacking]:
    """Everything that the study's rows lack on these sets, in the order in which it must be trained.

    `is_quick`: for models of libraries, those of shortened recipes count as present.
    """
    tasks = {task for folder in sets for task in DataSet.open(folder).tasks}
    tables = [table for table in study.tables if table.task in tasks]
    found: dict[str, Lacking] = {}
    for name, rows in _missing_weights(tables).items():
        for each in _weights(name, rows, sets):
            found.setdefault(each.model, each)
    return [*found.values(), *_library_models(tables, sets, sample, seed, is_quick)]


def weights_of(study: Study) -> list[str]:
    """The weights that rows of a study need and a recipe trains, whether they are installed or not."""
    names = dict.fromkeys(name for _, chosen in _pipelines(study.tables) for name in chosen.fingerprints())
    return [name for name in names if recipe_of(name)[0]]


def train_lacking(each: Lacking, models: Path, progress: Progress = SILENT, is_quick: bool = False) -> None:
    """Train one model; weights are put into the folder `models`."""
    if each.ends:
        _train_on_libraries(each, progress, is_quick)
        return
    recipe = load_recipe(each.recipe)
    recipe = quick.shortened(recipe) if is_quick else recipe
    unfinished = models / f"{each.model}{TRAINING}"
    models.mkdir(parents=True, exist_ok=True)
    if isinstance(recipe, PackRecipe):
        from_sets.train(recipe, each.sets, unfinished, encoder=each.encoder, progress=progress)
    elif isinstance(recipe, EvidenceRecipe):
        from_evidence.train(recipe, each.sets, unfinished, progress=progress)
    elif isinstance(recipe, WordsRecipe):
        words.train(recipe, each.sets, unfinished, progress)
    else:
        raise CitewellError(f"the recipe {each.recipe!r} does not train weights")
    unfinished.rename(models / each.model)


def train_library_model(is_quick: bool, left_out: Collection[str] = ()) -> Callable[[Library, str, Progress], None]:
    """What makes a missing model of a set's library; it raises for a missing one that is `left_out`."""

    def train(library: Library, name: str, progress: Progress) -> None:
        recipe = library_recipe(name)
        recipe = quick.shortened(recipe) if is_quick else recipe
        if not training.is_current(library, name, recipe):
            if name in left_out:
                raise CitewellError(f"not trained: {name}; the list of what was not measured says why")
            training.train(library, recipe, progress)

    return train


def recipe_of(name: str) -> tuple[str, str]:
    """The recipe that trains the weights called `name`, empty if there is none; and the model that it starts from.

    A pipeline that needs no other weights says both; otherwise it is the recipe of the same name. Weights that do not have the
    name of their recipe start from another model than the recipe says: without its name they cannot be trained here.
    """
    for known, definition in definitions().items():
        if "recipe" in definition and list(pipeline(known).fingerprints()) == [name]:
            recipe = definition["recipe"]
            return recipe, definition.get("base", "" if recipe.endswith(name) else UNKNOWN)
    return (name, "") if name in recipes() else ("", "")


def _missing_weights(tables: Sequence[Table]) -> dict[str, tuple[str, ...]]:
    """The weights that are not installed, each with the methods that need them."""
    rows: dict[str, dict[str, None]] = {}
    for method, chosen in _pipelines(tables):
        for name in chosen.missing_weights():
            rows.setdefault(name, {})[method] = None
    return {name: tuple(methods) for name, methods in rows.items()}


def _pipelines(tables: Sequence[Table]) -> Iterator[tuple[str, Pipeline]]:
    """Each method that has a pipeline."""
    for table in tables:
        for row in table.rows:
            if row.pipeline in definitions():
                yield row.method, pipeline(row.pipeline, **row.settings)


def _weights(name: str, rows: tuple[str, ...], sets: Sequence[Path]) -> Iterator[Lacking]:
    """The weights called `name`, after a base that must be trained first."""
    recipe_name, start = recipe_of(name)
    if not recipe_name:
        advice = f"no recipe trains it; put its folder into {weights.model_folders()[0]} with the name {name!r}"
        yield Lacking(name, "", rows, (), obstacle=advice)
        return
    recipe = load_recipe(recipe_name)
    fitting = _fitting(recipe, sets)
    base = recipe.base if isinstance(recipe, PackRecipe) else ""
    if base in from_sets.TRAINED_BASES and not weights.folder(base).is_dir():
        yield from _weights(base, rows, sets)
    encoder = weights.folder(start) if start else None
    obstacle = _obstacle(recipe, fitting, start, encoder)
    seconds = 0.0
    if not obstacle and isinstance(recipe, PackRecipe | EvidenceRecipe | WordsRecipe):
        seconds = estimates.weights_seconds(recipe, fitting, _base(recipe, encoder))
    yield Lacking(name, recipe_name, rows, fitting, seconds, encoder=encoder, obstacle=obstacle)


def _fitting(recipe: Recipe, sets: Sequence[Path]) -> tuple[Path, ...]:
    """The sets that have what a recipe learns from."""
    if isinstance(recipe, WordsRecipe):
        return tuple(sets)
    tasks = recipe.pairs.tasks if isinstance(recipe, PackRecipe) else ("evidence",)
    return tuple(folder for folder in sets if set(tasks) & set(DataSet.open(folder).tasks))


def _obstacle(recipe: Recipe, sets: Sequence[Path], start: str, encoder: Path | None) -> str:
    """Why a recipe cannot be trained here; empty if it can."""
    try:
        extras.require("torch", "gensim", "onnx", "safetensors")
    except CitewellError as error:
        return str(error)
    if not sets:
        return "none of the sets has the task that it learns from"
    if start == UNKNOWN:
        out = f"{weights.model_folders()[0]}/NAME"
        return f"its base is not named; run: citewell train {recipe.name} --encoder BASE --out {out}"
    if encoder and not encoder.is_dir():
        return f"it starts from {start!r}; put that model's folder into {weights.model_folders()[0]}"
    if isinstance(recipe, PackRecipe) and recipe.base not in from_sets.TRAINED_BASES:
        try:
            from_sets.base_folder(recipe, encoder)
        except CitewellError as error:
            return str(error)
    return ""


def _base(recipe: Recipe, encoder: Path | None) -> Path | None:
    """The folder of the initial weights, None if they are not trained yet."""
    if not isinstance(recipe, PackRecipe):
        return None
    try:
        return from_sets.base_folder(recipe, encoder)
    except CitewellError:
        return None


def _library_models(
    tables: Sequence[Table], sets: Sequence[Path], sample: int | None, seed: int, is_quick: bool
) -> Iterator[Lacking]:
    """The models that libraries of the sets lack, one entry for each set, split and model."""
    for folder in sets:
        dataset = DataSet.open(folder)
        needed: dict[tuple[str, str, Conditions], dict[str, dict[str, None]]] = {}
        for table in tables:
            place = (table.task, table.split, tuple(table.conditions().items()))
            for method, chosen in _pipelines([table]) if table.task in dataset.tasks else ():
                for name in chosen.models():
                    needed.setdefault(place, {}).setdefault(name, {})[method] = None
        for (task, split, conditions), rows_by_model in needed.items():
            evaluation = Evaluation(folder, task, split, sample, seed, **dict(conditions))
            libraries = evaluation.libraries()
            ends = libraries.ends(judged.date for judged in evaluation.queries())
            records = dataset.records(False)
            for name, rows in sorted(rows_by_model.items()):
                recipe = quick.shortened(library_recipe(name)) if is_quick else library_recipe(name)
                current = partial(training.is_current, recipe=recipe)
                if missing := tuple(date for date in ends if not libraries.has_model(date, name, current)):
                    seconds = len(missing) * estimates.library_seconds(recipe, records)
                    obstacle = "" if training.can_train(name) else "it needs gensim; run: pip install 'citewell[train]'"
                    where = (task, split, conditions, missing)
                    yield Lacking(name, name, tuple(rows), (folder,), seconds, *where, obstacle=obstacle)


def _train_on_libraries(each: Lacking, progress: Progress, is_quick: bool) -> None:
    (folder,) = each.sets
    train, changed = train_library_model(is_quick), dict(each.conditions)
    libraries = Evaluation(folder, each.task, each.split, progress=progress, train=train, **changed).libraries()
    for date in each.ends:
        libraries.cached(date, [each.model]).close()
