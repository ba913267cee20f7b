"""Trains the citation-worthiness model (`citewell.models.claims`), on a CPU, in minutes.

Word weights come from a logistic regression, fitted by L-BFGS; LightGBM's trees correct it. The trees are trained on
cross-fitted sums: word weights learned from the other half of the papers, because on their own training sentences the sums look
better than they are. For a share of the paragraphs the section is hidden, as it is for pasted text.
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

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.claims import LabelledBlock, best_threshold, figures, labelled_paragraphs, score_blocks, threshold_for
from citewell.evaluate.sets import DataSet
from citewell.models.claims import (
    FEATURES,
    MAX_CHARACTERS,
    THRESHOLDS,
    TREES,
    WORDS,
    Claims,
    buckets,
    feature_table,
    section_kind,
)
from citewell.models.hashed_terms import dequantise, quantise
from citewell.models.trees import Trees
from citewell.progress import SILENT, Progress
from citewell.text.citation_removal import remove_citations
from citewell.train import logistic
from citewell.train.card import CARD, LICENCE, write_json
from citewell.train.recipe import ClaimsRecipe
from citewell.types import Float64Array, IntArray, Mask

_FOLDS = 2


@dataclass
class LabelledSentences:
    """The sentences of some paragraphs, paragraph by paragraph."""

    sentences: list[list[str]]
    """The sentences of each paragraph, without citations."""
    kinds: list[str]
    cites: Float64Array
    labelled: Mask
    """Which sentences have a label; the others are only neighbours."""
    folds: IntArray
    """The fold of each sentence's paper."""
    term_matrix: Any
    """The terms of each sentence (scipy CSR)."""

    @classmethod
    def of(cls, paragraphs: Sequence[LabelledBlock], recipe: ClaimsRecipe) -> LabelledSentences:
        random = np.random.default_rng(recipe.seed)
        sentences = [[remove_citations(sentence[:MAX_CHARACTERS]) for sentence in each.block.sentences] for each in paragraphs]
        kinds = ["" if random.random() < recipe.unsectioned else section_kind(each.block.section) for each in paragraphs]
        sizes = [len(each) for each in sentences]
        return cls(
            sentences,
            kinds,
            np.concatenate([each.cites for each in paragraphs]).astype(float),
            np.concatenate([each.judged for each in paragraphs]),
            np.repeat([crc32(each.paper.encode()) % _FOLDS for each in paragraphs], sizes),
            _term_matrix(sentences, kinds, recipe.buckets),
        )

    def table(self, word_sums: Float64Array) -> Float64Array:
        """The features of the trees."""
        parts = np.split(word_sums, np.cumsum([len(each) for each in self.sentences])[:-1])
        return np.concatenate(list(map(feature_table, self.sentences, parts, self.kinds)))


def train(recipe: ClaimsRecipe, sets: Sequence[Path], out: Path, progress: Progress = SILENT) -> dict[str, Any]:
    """Train on the train years of sets, choose thresholds on their dev years, and write the model; returns a summary."""
    started = time.monotonic()
    if find_spec("lightgbm") is None:
        raise CitewellError(f"the recipe {recipe.name!r} needs lightgbm; install it with: pip install 'citewell[train]'")
    datasets = [DataSet.open(folder) for folder in sets]
    if not datasets:
        raise CitewellError("name the sets to train on: --set DIR")
    progress.start("training", 2 * len(datasets) + _FOLDS + 2, "steps")
    train_parts = {
        each.name: _read_years(each, range(each.split("dev").links_until or 0, 0, -1), progress) for each in datasets
    }
    dev_parts = {each.name: _read_years(each, each.years["dev"], progress) for each in datasets}
    train_data, dev_data = (
        LabelledSentences.of([each for part in parts.values() for each in part], recipe) for parts in (train_parts, dev_parts)
    )
    out.mkdir(parents=True, exist_ok=True)
    weights, bias = _fit_logistic(train_data, train_data.labelled, recipe)
    progress.advance()
    codes, scale = quantise(weights)
    np.savez_compressed(out / WORDS, codes=codes, scale=scale, bias=bias)
    word_sums = dev_data.term_matrix @ dequantise(codes, scale) + bias
    trees, rounds = _fit_trees(train_data, _cross_fit(train_data, recipe, progress), dev_data, word_sums, recipe)
    trees.save(out / TREES)
    progress.advance()
    figures = _choose_thresholds(recipe, dev_parts, out)
    counts = {name: _count(paragraphs) for name, paragraphs in train_parts.items()}
    _write_card(recipe, counts, rounds, figures, out)
    return {"recipe": recipe.name, "out": str(out), "dev": figures, "seconds": round(time.monotonic() - started, 1)}


def _read_years(dataset: DataSet, years: Sequence[int] | range, progress: Progress) -> list[LabelledBlock]:
    paragraphs = list(labelled_paragraphs(dataset, years))
    progress.advance()
    if not _count(paragraphs)["cite"]:
        raise CitewellError(f"{dataset.folder} has no paragraph with a citation in the years {min(years)} to {max(years)}")
    return paragraphs


def _count(paragraphs: Sequence[LabelledBlock]) -> dict[str, int]:
    return {
        "paragraphs": len(paragraphs),
        "sentences": sum(int(each.judged.sum()) for each in paragraphs),
        "cite": sum(int((each.judged & each.cites).sum()) for each in paragraphs),
    }


def _term_matrix(sentences: Sequence[Sequence[str]], kinds: Sequence[str], size: int) -> Any:
    at = [buckets(sentence, kind, size) for each, kind in zip(sentences, kinds, strict=True) for sentence in each]
    return logistic.term_matrix(at, size)


def _cross_fit(train_data: LabelledSentences, recipe: ClaimsRecipe, progress: Progress) -> Float64Array:
    """The linear score of every sentence, with word weights learned from the other fold."""
    sums = np.zeros(len(train_data.cites))
    for fold in range(_FOLDS):
        weights, bias = _fit_logistic(train_data, train_data.labelled & (train_data.folds != fold), recipe)
        own = train_data.folds == fold
        sums[own] = train_data.term_matrix[own] @ weights + bias
        progress.advance()
    return sums


def _fit_logistic(data: LabelledSentences, chosen: Mask, recipe: ClaimsRecipe) -> tuple[Float64Array, float]:
    """Weights and bias of a logistic regression on the chosen sentences."""
    return logistic.fit(data.term_matrix[chosen], data.cites[chosen], recipe.decay, recipe.steps)


def _fit_trees(
    train_data: LabelledSentences,
    word_sums: Float64Array,
    dev_data: LabelledSentences,
    dev_sums: Float64Array,
    recipe: ClaimsRecipe,
) -> tuple[Trees, int]:
    """The trees, with early stopping on the dev years, and their number."""
    import lightgbm

    parameters = dict(recipe.trees)
    rounds, patience = int(parameters.pop("rounds")), int(parameters.pop("patience"))
    settings = {
        "objective": "binary",
        "metric": "average_precision",
        "verbose": -1,
        "seed": recipe.seed,
        "deterministic": True,
        "num_threads": 2,
        **parameters,
    }
    train_rows, dev_rows = train_data.labelled, dev_data.labelled
    train_set = lightgbm.Dataset(train_data.table(word_sums)[train_rows], train_data.cites[train_rows])
    dev_set = lightgbm.Dataset(dev_data.table(dev_sums)[dev_rows], dev_data.cites[dev_rows], reference=train_set)
    stop = lightgbm.early_stopping(patience, verbose=False)
    booster = lightgbm.train(settings, train_set, rounds, valid_sets=[dev_set], callbacks=[stop])
    best = int(booster.best_iteration or rounds)
    # LightGBM does not allow spaces in names.
    return Trees.of_lightgbm({**booster.dump_model(num_iteration=best), "feature_names": list(FEATURES)}), best


def _choose_thresholds(
    recipe: ClaimsRecipe, dev_parts: Mapping[str, Sequence[LabelledBlock]], out: Path
) -> dict[str, dict[str, float]]:
    """Choose the thresholds on the dev years of the first set and write them; returns the dev measures of every set."""
    model = Claims(out)
    predictions = {name: score_blocks(model, paragraphs) for name, paragraphs in dev_parts.items()}
    cites, scores = next(iter(predictions.values()))
    best_f1, high_precision = best_threshold(cites, scores), threshold_for(cites, scores, recipe.precision)
    write_json(out / THRESHOLDS, {"even": round(best_f1, 4), "sure": round(high_precision, 4)})
    return {name: figures(*prediction, model.thresholds) for name, prediction in predictions.items()}


def _write_card(
    recipe: ClaimsRecipe, counts: dict[str, dict[str, int]], rounds: int, dev: dict[str, dict[str, float]], out: Path
) -> None:
    card = {
        "what": "which sentences need a citation: linear word weights, corrected by trees",
        "recipe": msgspec.to_builtins(recipe),
        "sets": counts,
        "trees": rounds,
        "dev": {name: {measure: round(value, 4) for measure, value in measures.items()} for name, measures in dev.items()},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, card)
