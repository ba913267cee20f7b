"""Trains a model of a library with a recipe: reads the corpus, trains, saves the model with its card."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from citewell import __version__
from citewell.arrays import Arrays
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.trained_models import model_folder, read_card
from citewell.progress import SILENT, Progress
from citewell.train.corpus import Corpus, read_corpus
from citewell.train.recipe import LibraryRecipe, library_recipe
from citewell.train.save import EpochCheckpoints, save_arrays

KINDS = {
    "lda": "citewell.train.lda",
    "lda-gibbs": "citewell.train.lda_gibbs",
    "doc2vec": "citewell.train.doc2vec",
    "paper2vec": "citewell.train.paper2vec",
    "hyperdoc2vec": "citewell.train.hyperdoc2vec",
}
"""The methods: modules with `Parameters` and `train`. To add one, write a module, a line here, and a recipe."""


def train(library: Library, recipe: str | LibraryRecipe, progress: Progress = SILENT) -> dict[str, Any]:
    """Train a model of the library and return its card; resumes an interrupted training."""
    if isinstance(recipe, str):
        recipe = library_recipe(recipe)
    folder = model_folder(library, recipe.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name(f"{folder.name}.lock"), timeout=0):
            return _train(library, recipe, progress)
    except Timeout:
        raise CitewellError(f"the model {recipe.name!r} of {library.folder} is being trained; wait for that to end") from None


def is_current(library: Library, name: str, recipe: LibraryRecipe | None = None) -> bool:
    """Whether the library has this model, trained with the current recipe, or with the given one."""
    card = read_card(model_folder(library, name))
    if card is None:
        return False
    trained, current = card.about.get("recipe", {}), msgspec.to_builtins(recipe or library_recipe(name))
    return {**trained, "about": ""} == {**current, "about": ""}


def train_missing(library: Library, name: str, progress: Progress = SILENT) -> None:
    """Train the model `name` unless the library has it, trained with the current recipe."""
    if not is_current(library, name):
        train(library, name, progress)


def _train(library: Library, recipe: LibraryRecipe, progress: Progress) -> dict[str, Any]:
    started = time.monotonic()
    learn, parameters = _method(recipe)
    corpus = read_corpus(library, recipe.text, recipe.min_count)
    folder = model_folder(library, recipe.name)
    fingerprint = f"{corpus.fingerprint()} {msgspec.json.encode(recipe).decode()}"
    checkpoints = EpochCheckpoints(folder.with_name(f"{folder.name}.training"), fingerprint)
    arrays = learn(corpus, parameters, recipe.seed, checkpoints, progress)
    about = {
        "recipe": msgspec.to_builtins(recipe),
        "papers": len(corpus.papers),
        "words": len(corpus.hashes),
        "contexts": len(corpus.cited),
        "seconds": round(time.monotonic() - started, 1),
        "citewell": __version__,
    }
    save_arrays(folder, _by_hash(corpus, arrays), about)
    checkpoints.clear()
    return about


def can_train(name: str) -> bool:
    """Whether the packages that a recipe needs are installed."""
    try:
        _method(library_recipe(name))
    except CitewellError:
        return False
    return True


def _method(recipe: LibraryRecipe) -> tuple[Callable[..., Arrays], Any]:
    if recipe.kind not in KINDS:
        raise CitewellError(f"the recipe {recipe.name!r} has an unknown kind; there are {', '.join(KINDS)}")
    try:
        module = import_module(KINDS[recipe.kind])
    except ImportError as error:
        raise CitewellError(
            f"the recipe {recipe.name!r} needs {error.name}; install it with: pip install 'citewell[train]'"
        ) from None
    learn: Callable[..., Arrays] = module.train
    return learn, msgspec.convert(recipe.parameters, module.Parameters)


def _by_hash(corpus: Corpus, arrays: Arrays) -> Arrays:
    """The arrays with words sorted by hash, for lookup, and the lengths of paper vectors."""
    order = np.argsort(corpus.hashes)
    sorted_arrays = {name: array[order] if name.startswith("words") else array for name, array in arrays.items()}
    lengths = {
        f"lengths_of_{name}": np.linalg.norm(array, axis=1).astype(np.float32)
        for name, array in arrays.items()
        if name.startswith("docs")
    }
    return {
        "papers": corpus.papers,
        "words": corpus.hashes[order],
        "words_counts": corpus.counts[order],
        **sorted_arrays,
        **lengths,
    }
