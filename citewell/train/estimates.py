"""How long a training takes: a rough estimate from the recipe, the size of the data, and the speed of this machine.

Neural models take six floating-point operations for each parameter and token. Other methods take CPU seconds for each paper or
word, as measured once. Estimates are meant to tell minutes from hours and hours from days.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from citewell.evaluate.sets import DataSet
from citewell.threads import cores
from citewell.train.recipe import EvidenceRecipe, LibraryRecipe, PackRecipe, WordsRecipe

RECORD_SECONDS = {"lda": 0.0016, "doc2vec": 0.002, "paper2vec": 0.003, "hyperdoc2vec": 0.0006}
"""Seconds for each paper and context of a library with the recipes that ship. On cs, on two shared cores, LDA took 139 s
and HyperDoc2Vec 51 s; Doc2Vec and Paper2Vec are reckoned from their epochs."""
SLOWEST = 0.003
"""The same for other methods; LDA by Gibbs sampling took 256 s."""
WORD_SECONDS = 4e-6
"""CPU seconds of skip-gram for each word and epoch."""
STEP_SECONDS = {"joint-snippets": 0.6, "semiser": 0.05}
"""CPU seconds of a step of the models that rank sentences."""
RECORD_WORDS = 120
"""Words of a paper or a context, on average."""
EFFICIENCY = 0.4
"""The share of the speed of a large matrix product that training reaches."""
RECURRENT = 0.25
"""The same, relative to that, where words are read one after the other."""
GPU = 1e14
"""Operations per second of a GPU."""


def library_seconds(recipe: LibraryRecipe, records: int) -> float:
    """The time to train a model of a library with this many papers and contexts."""
    return RECORD_SECONDS.get(recipe.kind, SLOWEST) * records


def weights_seconds(recipe: PackRecipe | EvidenceRecipe | WordsRecipe, sets: Sequence[Path], base: Path | None) -> float:
    """The time to train weights on sets; `base` is the folder of the initial weights."""
    words = RECORD_WORDS * sum(DataSet.open(folder).records(False) for folder in sets)
    if isinstance(recipe, PackRecipe):
        return _network_seconds(recipe, sets, base)
    skip_gram = WORD_SECONDS * recipe.words.epochs * words / cores()
    if isinstance(recipe, WordsRecipe):
        return skip_gram
    return skip_gram + STEP_SECONDS.get(recipe.kind, 1.0) * recipe.numbers.get("steps", 1000) / cores()


def _network_seconds(recipe: PackRecipe, sets: Sequence[Path], base: Path | None) -> float:
    numbers, inputs = recipe.numbers, recipe.inputs
    examples = _examples(recipe.kind, numbers)
    if recipe.kind == "enhanced-context":
        words, hidden = recipe.shape.get("words", 200), recipe.shape.get("hidden", 100)
        parameters = 6 * hidden * (words + hidden)  # the gates of a recurrent network that reads both ways
        tokens, efficiency = inputs.get("context", 200) + inputs.get("paper", 200), EFFICIENCY * RECURRENT
    else:
        parameters = (base / "model.safetensors").stat().st_size // 4 if base else 22_000_000
        tokens, efficiency = inputs.get("pair", inputs.get("query", 256)), EFFICIENCY
    return 6 * parameters * tokens * examples * _steps(recipe, sets) / (speed() * efficiency)


def _examples(kind: str, numbers: dict[str, Any]) -> int:
    """Texts that a step reads."""
    if kind == "enhanced-context":
        return int(numbers.get("pairs", 30) * (1 + numbers.get("negatives", 10)))
    if kind == "paragraph":
        return int(numbers.get("queries", 16) * (2 + sum(numbers.get("negatives", (4, 3, 3)))))
    return int(numbers.get("pairs", numbers.get("batch", 64)))


def _steps(recipe: PackRecipe, sets: Sequence[Path]) -> int:
    """The steps of the recipe; where it has epochs, of all paragraphs of the sets."""
    if "steps" in recipe.numbers:
        return int(recipe.numbers["steps"])
    paragraphs = sum(1 for folder in sets for _ in DataSet.open(folder).paragraphs())
    return max(1, int(recipe.numbers.get("epochs", 1) * paragraphs / recipe.numbers.get("queries", 16)))


@lru_cache(maxsize=1)
def speed() -> float:
    """Floating-point operations per second: of a GPU if torch sees one, else measured."""
    import torch

    if torch.cuda.is_available():
        return GPU
    matrix = np.random.default_rng(0).random((1024, 1024), np.float32)
    matrix @ matrix
    started = time.perf_counter()
    rounds = 5
    for _ in range(rounds):
        matrix @ matrix
    return 2 * 1024**3 * rounds / (time.perf_counter() - started)
