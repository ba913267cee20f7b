"""One cell of a tuning: trains a recipe with some settings on all folds of the train queries but one, and measures on that one.

A worker process reads cells as lines of JSON from standard input and writes their measures to standard output. It ends with its
input, so that it never outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from citewell.errors import CitewellError
from citewell.models.word_vectors import WordVectors
from citewell.train.packs import load
from citewell.train.recipe import EvidenceRecipe
from citewell.train.sentence_data import SentenceData
from citewell.train.sentence_measures import average_precision, precisions

PLAN, DATA = "tuning.json", "sentences.npz"
PAPERS, SENTENCES = "AP", "sentences:AP"
_TIMED_STEPS, _TIMED_QUERIES = 5, 5


class Plan(msgspec.Struct, frozen=True):
    """What all cells of a tuning share."""

    recipe: EvidenceRecipe
    folds: int
    seed: int
    fingerprint: str
    """Of the data."""


class FoldTraining:
    """Trains the cells of the plan in a folder."""

    def __init__(self, folder: Path) -> None:
        self.plan = msgspec.json.decode((folder / PLAN).read_bytes(), type=Plan)
        self.data = SentenceData(load(folder / DATA))
        self._words = WordVectors.load(folder)

    @cached_property
    def folds(self) -> list[list[int]]:
        """The train queries in random parts of equal size."""
        shuffled = np.random.default_rng(self.plan.seed).permutation(self.data.queries("train"))
        if len(shuffled) < self.plan.folds:
            raise CitewellError(f"there are only {len(shuffled)} train queries; give at most as many --folds")
        return [shuffled[at :: self.plan.folds].tolist() for at in range(self.plan.folds)]

    def run(self, settings: Mapping[str, Any], fold: int) -> dict[str, Any]:
        """The measures of one cell."""
        started = time.monotonic()
        numbers = self._numbers(settings)
        training = self._fit(numbers, fold)
        papers, sentences = precisions(self.data, training.score, self.folds[fold], numbers.dev_depth)
        measures = {PAPERS: papers, SENTENCES: sentences}
        means = {name: float(np.mean(values)) for name, values in measures.items() if values}
        return {"settings": dict(settings), "fold": fold, **means, "seconds": round(time.monotonic() - started, 2)}

    def bm25(self, settings: Mapping[str, Any], fold: int) -> float:
        """The average precision of BM25's own order, to the depth of these settings."""
        depth = self._numbers(settings).dev_depth
        values = [
            average_precision(self.data.candidates(query)[0][:depth], self.data.relevant(query)) for query in self.folds[fold]
        ]
        return float(np.mean(values))

    def timing(self, settings: Mapping[str, Any]) -> tuple[float, float]:
        """The seconds of one training step, and of measuring one query, from a few of each."""
        numbers = msgspec.structs.replace(self._numbers(settings), steps=_TIMED_STEPS)
        self._fit(msgspec.structs.replace(numbers, steps=1), 0)  # the first step takes longer
        started = time.monotonic()
        training = self._fit(numbers, 0)
        trained = time.monotonic()
        queries = self.folds[0][:_TIMED_QUERIES]
        precisions(self.data, training.score, queries, numbers.dev_depth)
        return (trained - started) / _TIMED_STEPS, (time.monotonic() - trained) / len(queries)

    def steps(self, settings: Mapping[str, Any]) -> int:
        """The number of training steps with some settings."""
        return int(self._numbers(settings).steps)

    def _fit(self, numbers: Any, fold: int) -> Any:
        queries = [query for at, part in enumerate(self.folds) if at != fold for query in part]
        return _module(self.plan.recipe).fit_on(self.data, self._words, numbers, queries)

    def _numbers(self, settings: Mapping[str, Any]) -> Any:
        return hyperparameters(self.plan.recipe, settings)


def hyperparameters(recipe: EvidenceRecipe, settings: Mapping[str, Any]) -> Any:
    """The settings of a recipe with some of them replaced."""
    try:
        return msgspec.convert({**recipe.numbers, **settings}, _module(recipe).Hyperparameters, strict=False)
    except msgspec.ValidationError as error:
        raise CitewellError(f"the recipe {recipe.name!r} cannot be tuned so: {error}") from None


def _module(recipe: EvidenceRecipe) -> Any:
    from citewell.train.from_evidence import KINDS

    return import_module(KINDS[recipe.kind])


def main() -> None:
    import torch

    torch.set_num_threads(1)  # cells run in parallel, and a thread each is fastest
    training = FoldTraining(Path(sys.argv[1]))
    for line in sys.stdin:
        cell = json.loads(line)
        result = json.dumps(training.run(cell["settings"], cell["fold"]))
        try:
            print(result, flush=True)
        except BrokenPipeError:
            os._exit(1)  # whoever asked has been killed; an ordinary exit would print a traceback of its own
