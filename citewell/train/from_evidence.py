"""Trains a sentence-ranking model on the evidence queries of data sets: collects data, trains word vectors, then the network.

The output folder serves the model with ``words.npz`` and ``network.npz``: put it into ``$CITEWELL_MODELS`` and name it in a
pipeline. ``weights`` has the training curve. Several recipes can share the collected data (``--pack``).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.models.word_networks import NETWORK
from citewell.models.word_vectors import FILE as WORDS
from citewell.models.word_vectors import WordVectors
from citewell.progress import SILENT, Progress
from citewell.train.card import RECIPE, SETS, write_card, write_json
from citewell.train.curve import dev_figures
from citewell.train.fingerprints import fingerprint
from citewell.train.recipe import EvidenceRecipe
from citewell.train.save import EpochCheckpoints
from citewell.train.sentence_data import SentenceData, load_or_collect

KINDS = {"joint-snippets": "citewell.train.joint_snippets", "semiser": "citewell.train.semiser"}
"""The methods: modules with `Hyperparameters`, `fit` and `WHAT` (a line for the card)."""
WEIGHTS, DATA = "weights", "sentences.npz"
_NEEDED = ("torch", "gensim")


def train(
    recipe: EvidenceRecipe,
    sets: Sequence[Path],
    out: Path,
    pack: Path | None = None,
    device: str = "",
    progress: Progress = SILENT,
    annotations: Sequence[Path] = (),
    texts: Sequence[Path] = (),
) -> dict[str, Any]:
    """Collect data, train word vectors and network, and export; returns a summary. Resumes an interrupted training.

    A graph links the concepts of `annotations` in place of key terms; word vectors also learn from the sets `texts`.
    """
    started = time.monotonic()
    module, numbers = training_module(recipe)
    if annotations and recipe.graph is None:
        raise CitewellError(f"the recipe {recipe.name!r} learns no words from a graph; leave --annotations out")
    weights = out / WEIGHTS
    weights.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            path = pack or out / DATA
            data = load_or_collect(path, sets, recipe.queries, progress, replace=pack is None, texts=recipe.texts)
            words = word_vectors(recipe, data, path, weights, progress, annotations, texts)
            _fit(module, numbers, recipe, data, words, weights, device, progress)
            read = [DataSet.open(folder).name for folder in sets] if recipe.texts else []
            learned: dict[str, dict[str, int]] = {name: {} for name in read} | data.figures()
            for name in (RECIPE, SETS):
                record = {**msgspec.to_builtins(recipe), **_sources(annotations, texts)} if name == RECIPE else learned
                write_json(weights / name, record)
            for name in (WORDS, NETWORK):
                shutil.move(weights / name, out / name)
            write_card(weights, out, module.WHAT)
            _remove_temporary_files(out)
    except Timeout:
        raise CitewellError(f"another training is writing to {out}; wait for it to end, or choose another folder") from None
    result = {"recipe": recipe.name, "out": str(out), "sets": learned, "dev": dev_figures(weights)}
    return {**result, "seconds": round(time.monotonic() - started, 1)}


def training_module(recipe: EvidenceRecipe) -> tuple[Any, Any]:
    """The module of the method, and its settings."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise CitewellError(f"the recipe {recipe.name!r} needs {missing[0]}; install it with: pip install 'citewell[train]'")
    module = import_module(KINDS[recipe.kind])
    try:
        return module, msgspec.convert(recipe.numbers, module.Hyperparameters)
    except msgspec.ValidationError as error:
        raise CitewellError(f"the recipe {recipe.name!r}, [numbers]: {error}") from None


def word_vectors(
    recipe: EvidenceRecipe,
    data: SentenceData,
    path: Path,
    folder: Path,
    progress: Progress,
    annotations: Sequence[Path] = (),
    texts: Sequence[Path] = (),
) -> WordVectors:
    """The word vectors in a folder; trained once, then loaded. `path` is the file of the data."""
    from citewell.train.annotations import AnnotationReader
    from citewell.train.skip_gram import train_word_vectors
    from citewell.train.words_base import from_base

    if recipe.base:
        if annotations or texts:
            raise CitewellError(
                f"the recipe {recipe.name!r} takes its words from {recipe.base}; leave out --text and --annotations"
            )
        from_base(Path(recipe.base), data).save(folder)
        return WordVectors.load(folder)
    files = [path, *annotations, *(file for each in texts for file in DataSet.open(each).files())]
    origin = fingerprint(files, msgspec.json.encode([recipe.words, recipe.graph]).decode())
    marker = folder / f"words-{origin}"
    if not marker.exists():
        checkpoints = EpochCheckpoints(folder / "words.training", origin)
        annotated = chain.from_iterable(AnnotationReader(each, progress) for each in annotations) if annotations else None
        train_word_vectors(data, recipe.words, recipe.graph, checkpoints, progress, annotated, texts).save(folder)
        for other in folder.glob("words-*"):
            other.unlink()
        marker.touch()
        checkpoints.clear()
    return WordVectors.load(folder)


def _fit(
    module: Any,
    numbers: Any,
    recipe: EvidenceRecipe,
    data: SentenceData,
    words: WordVectors,
    weights: Path,
    device: str,
    progress: Progress,
) -> None:
    from citewell.train.checkpoints import Checkpoint, training_fingerprint
    from citewell.train.encoder import CHECKPOINT, choose_device

    chosen = choose_device(device)
    origin = training_fingerprint(msgspec.to_builtins(recipe), [weights / WORDS], chosen)
    module.fit(data, words, numbers, Checkpoint(weights / CHECKPOINT, origin, chosen), weights, chosen, progress)


def _sources(annotations: Sequence[Path], texts: Sequence[Path]) -> dict[str, Any]:
    """What the card says of further sources of word vectors: names of files and sets, and a fingerprint of annotations."""
    record: dict[str, Any] = {}
    if annotations:
        record["annotations"] = {"files": [path.name for path in annotations], "fingerprint": fingerprint(annotations)}
    if texts:
        record["texts"] = [DataSet.open(folder).name for folder in texts]
    return record


def _remove_temporary_files(out: Path) -> None:
    """Remove the files that only a resumed training needs."""
    for path in (out / DATA, out / WEIGHTS / "checkpoint.pt", *(out / WEIGHTS).glob("words-*")):
        path.unlink(missing_ok=True)
