"""Training the model of sentences that call for a citation (`citewell.models.claims`), on a CPU, in minutes.

The weights of words are those of a logistic regression over all of them, found by L-BFGS. The trees that correct it are
LightGBM's. They learn from sums of weights that were learned from the other half of the papers: of sentences that the weights
were made for, their sum would look better than it is. A share of the paragraphs is read as if their section were not known, as
that of a pasted text is not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.claims import Marked, best_threshold, figures, passages, thought, threshold_for
from citewell.evaluate.sets import DataSet
from citewell.models.claims import FEATURES, LONGEST, THRESHOLDS, TREES, WORDS, Claims, kind_of, packed, places, table, unpacked
from citewell.models.trees import Trees
from citewell.text.citation_removal import remove_citations
from citewell.train.card import CARD, LICENCE, write_json
from citewell.train.monitoring import Unwatched, Watcher
from citewell.train.recipe import ClaimsRecipe

_HALVES = 2

Floats = npt.NDArray[np.float64]


@dataclass
class Lesson:
    """Every sentence of some passages, those of one passage behind one another."""

    said: list[list[str]]
    """Of each passage its sentences, without citations."""
    kinds: list[str]
    cites: Floats
    taught: npt.NDArray[np.bool_]
    """Which sentences are learned from; the others are neighbours."""
    halves: npt.NDArray[np.int64]
    """In which half the paper of each is."""
    words: Any
    """The table of which words each has (scipy's CSR)."""

    @classmethod
    def of(cls, found: Sequence[Marked], recipe: ClaimsRecipe) -> Lesson:
        random = np.random.default_rng(recipe.seed)
        said = [[remove_citations(sentence[:LONGEST]) for sentence in each.passage.sentences] for each in found]
        kinds = ["" if random.random() < recipe.unsectioned else kind_of(each.passage.section) for each in found]
        sizes = [len(each) for each in said]
        return cls(
            said,
            kinds,
            np.concatenate([each.cites for each in found]).astype(float),
            np.concatenate([each.judged for each in found]),
            np.repeat([crc32(each.paper.encode()) % _HALVES for each in found], sizes),
            _rows(said, kinds, recipe.buckets),
        )

    def table(self, summed: Floats) -> Floats:
        """What the trees go by."""
        parts = np.split(summed, np.cumsum([len(each) for each in self.said])[:-1])
        return np.concatenate([table(said, part, kind) for said, part, kind in zip(self.said, parts, self.kinds, strict=True)])


def train(recipe: ClaimsRecipe, sets: Sequence[Path], out: Path, watcher: Watcher | None = None) -> dict[str, Any]:
    """Learn from the train years of sets, choose by their dev years, write the model; says what came of it."""
    started = time.monotonic()
    if find_spec("lightgbm") is None:
        raise CitewellError(f"the recipe {recipe.name!r} needs lightgbm; install it with: pip install 'citewell[train]'")
    datasets = [DataSet.open(folder) for folder in sets]
    if not datasets:
        raise CitewellError("name the sets to train on: --set DIR")
    watcher = watcher or Unwatched()
    watcher.training(2 * len(datasets) + _HALVES + 2)
    taught = {each.name: _years(each, range(each.split("dev").links_until or 0, 0, -1), watcher) for each in datasets}
    dev = {each.name: _years(each, each.years["dev"], watcher) for each in datasets}
    lesson, exam = (Lesson.of([each for part in parts.values() for each in part], recipe) for parts in (taught, dev))
    out.mkdir(parents=True, exist_ok=True)
    weights, bias = _logistic(lesson, lesson.taught, recipe)
    watcher.trained(1)
    codes, scale = packed(weights)
    np.savez_compressed(out / WORDS, codes=codes, scale=scale, bias=bias)
    summed = exam.words @ unpacked(codes, scale) + bias
    trees, rounds = _corrected(lesson, _by_halves(lesson, recipe, watcher), exam, summed, recipe)
    trees.save(out / TREES)
    watcher.trained(1)
    figures = _chosen(recipe, dev, out)
    counts = {name: _counted(found) for name, found in taught.items()}
    _write_card(recipe, counts, rounds, figures, out)
    return {"recipe": recipe.name, "out": str(out), "dev": figures, "seconds": round(time.monotonic() - started, 1)}


def _years(dataset: DataSet, years: Sequence[int] | range, watcher: Watcher) -> list[Marked]:
    found = list(passages(dataset, years))
    watcher.trained(1)
    if not _counted(found)["cite"]:
        raise CitewellError(f"{dataset.folder} has no paragraph that cites in the years {min(years)} to {max(years)}")
    return found


def _counted(found: Sequence[Marked]) -> dict[str, int]:
    return {
        "paragraphs": len(found),
        "sentences": sum(int(each.judged.sum()) for each in found),
        "cite": sum(int((each.judged & each.cites).sum()) for each in found),
    }


def _rows(said: Sequence[Sequence[str]], kinds: Sequence[str], size: int) -> Any:
    from scipy.sparse import csr_matrix

    at = [places(sentence, kind, size) for each, kind in zip(said, kinds, strict=True) for sentence in each]
    counts = np.array([len(each) for each in at])
    values = np.repeat(1 / np.sqrt(np.maximum(1, counts)), counts).astype(np.float32)
    return csr_matrix((values, np.concatenate(at), np.concatenate([[0], np.cumsum(counts)])), shape=(len(at), size))


def _by_halves(lesson: Lesson, recipe: ClaimsRecipe, watcher: Watcher) -> Floats:
    """Of every sentence the sum of weights that were learned from the other half of the papers."""
    found = np.zeros(len(lesson.cites))
    for half in range(_HALVES):
        weights, bias = _logistic(lesson, lesson.taught & (lesson.halves != half), recipe)
        own = lesson.halves == half
        found[own] = lesson.words[own] @ weights + bias
        watcher.trained(1)
    return found


def _logistic(lesson: Lesson, chosen: npt.NDArray[np.bool_], recipe: ClaimsRecipe) -> tuple[Floats, float]:
    """Weights and bias of a logistic regression on the chosen sentences."""
    from scipy.optimize import minimize

    rows, cites = lesson.words[chosen], lesson.cites[chosen]
    turned = rows.T.tocsr()

    def loss(values: Floats) -> tuple[float, Floats]:
        weights, bias = values[:-1], values[-1]
        sums = rows @ weights.astype(np.float32) + bias
        wrong = (1 / (1 + np.exp(-sums)) - cites) / max(1, len(cites))
        lost = float(np.mean(np.logaddexp(0, sums) - cites * sums) + recipe.decay / 2 * weights @ weights)
        return lost, np.append(turned @ wrong.astype(np.float32) + recipe.decay * weights, wrong.sum())

    start = np.zeros(rows.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": recipe.steps, "maxcor": 6}).x
    return found[:-1], float(found[-1])


def _corrected(lesson: Lesson, summed: Floats, exam: Lesson, examined: Floats, recipe: ClaimsRecipe) -> tuple[Trees, int]:
    """The trees, and how many: as long as the dev years gain."""
    import lightgbm

    numbers = dict(recipe.trees)
    rounds, patience = int(numbers.pop("rounds")), int(numbers.pop("patience"))
    settings = {
        "objective": "binary",
        "metric": "average_precision",
        "verbose": -1,
        "seed": recipe.seed,
        "deterministic": True,
        "num_threads": 2,
        **numbers,
    }
    data = lightgbm.Dataset(lesson.table(summed)[lesson.taught], lesson.cites[lesson.taught])
    held = lightgbm.Dataset(exam.table(examined)[exam.taught], exam.cites[exam.taught], reference=data)
    stop = lightgbm.early_stopping(patience, verbose=False)
    booster = lightgbm.train(settings, data, rounds, valid_sets=[held], callbacks=[stop])
    best = int(booster.best_iteration or rounds)
    # Names may hold no space for LightGBM.
    return Trees.of_lightgbm({**booster.dump_model(num_iteration=best), "feature_names": list(FEATURES)}), best


def _chosen(recipe: ClaimsRecipe, dev: Mapping[str, Sequence[Marked]], out: Path) -> dict[str, dict[str, float]]:
    """Thresholds, chosen on the dev years of the first set and written; the figures of every set there."""
    model = Claims(out)
    answers = {name: thought(model, found) for name, found in dev.items()}
    cites, scores = next(iter(answers.values()))
    even, sure = best_threshold(cites, scores), threshold_for(cites, scores, recipe.precision)
    write_json(out / THRESHOLDS, {"even": round(even, 4), "sure": round(sure, 4)})
    return {name: figures(*answer, model.thresholds) for name, answer in answers.items()}


def _write_card(
    recipe: ClaimsRecipe, counts: dict[str, dict[str, int]], rounds: int, dev: dict[str, dict[str, float]], out: Path
) -> None:
    card = {
        "what": "which sentences call for a citation: weights of words, and trees over their sums and plain counts",
        "recipe": msgspec.to_builtins(recipe),
        "sets": counts,
        "trees": rounds,
        "dev": {name: {measure: round(value, 4) for measure, value in found.items()} for name, found in dev.items()},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, card)
