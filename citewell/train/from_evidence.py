"""Training a model that ranks sentences from the evidence questions of data sets: lessons, vectors of words, then the network.

In the folder that it leaves, ``words.npz`` and ``network.npz`` serve: put it into ``$CITEWELL_MODELS`` and a pipeline can name
it. ``weights`` keeps the curve of the training. The same lessons do for several recipes (``--pack``).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from citewell.errors import CitewellError
from citewell.evaluate.outcomes import Watcher as Asked
from citewell.library.add import Progress
from citewell.models.word_networks import NETWORK
from citewell.models.word_vectors import FILE as WORDS
from citewell.models.word_vectors import WordVectors
from citewell.train.card import RECIPE, SETS, write_card, write_json
from citewell.train.curve import dev_figures
from citewell.train.fingerprints import digest
from citewell.train.monitoring import Unwatched, Watcher
from citewell.train.recipe import EvidenceRecipe
from citewell.train.save import Checkpoints
from citewell.train.sentence_data import Lessons, lessons_at

KINDS = {"joint-snippets": "citewell.train.joint_snippets", "semiser": "citewell.train.semiser"}
"""Each a module with its `Numbers`, `fit`, and `WHAT` it makes."""
WEIGHTS, LESSONS = "weights", "lessons.npz"
_NEEDED = ("torch", "gensim")


def train(
    recipe: EvidenceRecipe,
    sets: Sequence[Path],
    out: Path,
    pack: Path | None = None,
    device: str = "",
    progress: Progress | None = None,
    asked: Asked | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Collect, learn words, fit and export; says what came of it. A training that was killed goes on where it was."""
    started = time.monotonic()
    module, numbers = _method(recipe)
    weights = out / WEIGHTS
    weights.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "training.lock", timeout=0):
            path = pack or out / LESSONS
            lessons = lessons_at(path, sets, recipe.questions, progress, asked, ours=pack is None)
            words = _words(recipe, lessons, path, out, watcher or Unwatched())
            _fit(module, numbers, recipe, lessons, words, weights, device, watcher)
            for name in (RECIPE, SETS):
                write_json(weights / name, msgspec.to_builtins(recipe) if name == RECIPE else lessons.figures())
            for name in (WORDS, NETWORK):
                shutil.move(weights / name, out / name)
            write_card(weights, out, module.WHAT)
            _tidy(out)
    except Timeout:
        raise CitewellError(f"{out} is being trained into; wait for that to end, or name another folder") from None
    found = {"recipe": recipe.name, "out": str(out), "sets": lessons.figures(), "dev": dev_figures(weights)}
    return {**found, "seconds": round(time.monotonic() - started, 1)}


def _method(recipe: EvidenceRecipe) -> tuple[Any, Any]:
    """The module that trains, and its numbers."""
    if absent := [name for name in _NEEDED if find_spec(name) is None]:
        raise CitewellError(f"the recipe {recipe.name!r} needs {absent[0]}; install it with: pip install 'citewell[train]'")
    module = import_module(KINDS[recipe.kind])
    try:
        return module, msgspec.convert(recipe.numbers, module.Numbers)
    except msgspec.ValidationError as error:
        raise CitewellError(f"the recipe {recipe.name!r}, [numbers]: {error}") from None


def _words(recipe: EvidenceRecipe, lessons: Lessons, path: Path, out: Path, watcher: Watcher) -> WordVectors:
    """The vectors of words; made once, and looked up where they are."""
    from citewell.train.skip_gram import learn

    made_of = digest([path], msgspec.json.encode([recipe.words, recipe.graph]).decode())
    noted = out / WEIGHTS / f"words-{made_of}"
    if not noted.exists():
        checkpoints = Checkpoints(out / WEIGHTS / "words.training", made_of)
        learn(lessons, recipe.words, recipe.graph, checkpoints, watcher).save(out / WEIGHTS)
        for other in (out / WEIGHTS).glob("words-*"):
            other.unlink()
        noted.touch()
        checkpoints.clear()
    return WordVectors.load(out / WEIGHTS)


def _fit(
    module: Any,
    numbers: Any,
    recipe: EvidenceRecipe,
    lessons: Lessons,
    words: WordVectors,
    weights: Path,
    device: str,
    watcher: Watcher | None,
) -> None:
    from citewell.train.checkpoint import Checkpoint, fingerprint
    from citewell.train.encoder import CHECKPOINT, device_called

    chosen = device_called(device)
    made_of = fingerprint(msgspec.to_builtins(recipe), [weights / WORDS], chosen)
    module.fit(lessons, words, numbers, Checkpoint(weights / CHECKPOINT, made_of, chosen), weights, chosen, watcher)


def _tidy(out: Path) -> None:
    """Remove what only a training that goes on needs."""
    for path in (out / LESSONS, out / WEIGHTS / "checkpoint.pt", *(out / WEIGHTS).glob("words-*")):
        path.unlink(missing_ok=True)
