"""Trains the model of transition sentences (`citewell.models.transitions`), on a CPU, in a minute or two.

The labels are those of `citewell.evaluate.transitions`. Of a larger set at most as many paragraphs are drawn as the smallest
has, times a factor of the recipe. The threshold keeps a share, set in the recipe, of the first sentences of the dev years that
follow the rules: first sentences are more often transition sentences than the training sentences are, so their probabilities
are too low for a threshold of one half.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import floor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from citewell import __version__
from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet, FullParagraph
from citewell.evaluate.transitions import LabelledSentence, figures, labelled_sentences, opening_paragraphs
from citewell.models.hashed_terms import quantise
from citewell.models.transitions import THRESHOLD, WORDS, Transitions, buckets
from citewell.progress import SILENT, Progress
from citewell.train import logistic
from citewell.train.card import CARD, LICENCE, write_json
from citewell.train.recipe import TransitionsRecipe


def train(recipe: TransitionsRecipe, sets: Sequence[Path], out: Path, progress: Progress = SILENT) -> dict[str, Any]:
    """Train on the train years of sets, choose the threshold on their dev years, and write the model; returns a summary."""
    started = time.monotonic()
    datasets = [DataSet.open(folder) for folder in sets]
    if not datasets:
        raise CitewellError("name the sets to train on: --set DIR")
    progress.start("training", len(datasets) + 1, "steps")
    train_paragraphs: dict[str, list[FullParagraph]] = {}
    dev_parts: dict[str, list[LabelledSentence]] = {}
    for each in datasets:
        until, dev_years = each.split("dev").links_until or 0, each.years["dev"]
        paragraphs = list(opening_paragraphs(each))
        train_paragraphs[each.name] = [paragraph for year, paragraph in paragraphs if year <= until]
        dev_paragraphs = [paragraph for year, paragraph in paragraphs if year in dev_years]
        if not (train_paragraphs[each.name] and dev_paragraphs):
            raise CitewellError(f"{each.folder} has no paragraphs of introductions or related work in its train or dev years")
        dev_parts[each.name] = list(labelled_sentences(dev_paragraphs, recipe.within, recipe.seed))
        progress.advance()
    limit = recipe.factor * min(map(len, train_paragraphs.values()))
    train_parts = {
        name: list(labelled_sentences(_some(paragraphs, limit, recipe.seed), recipe.within, recipe.seed))
        for name, paragraphs in train_paragraphs.items()
    }
    sentences = [each for part in train_parts.values() for each in part]
    rows = logistic.term_matrix([buckets(each.text, recipe.buckets) for each in sentences], recipe.buckets)
    labels = np.array([each.transition for each in sentences], float)
    weights, bias = logistic.fit(rows, labels, recipe.decay, recipe.steps)
    codes, scale = quantise(weights)
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / WORDS, codes=codes, scale=scale, bias=bias)
    progress.advance()
    dev = _choose_threshold(dev_parts, recipe.recall, out)
    _write_card(recipe, {name: _count(part) for name, part in train_parts.items()}, dev, out)
    return {"recipe": recipe.name, "out": str(out), "dev": dev, "seconds": round(time.monotonic() - started, 1)}


def _some(paragraphs: list[FullParagraph], limit: int, seed: int) -> list[FullParagraph]:
    chosen = np.random.default_rng(seed).permutation(len(paragraphs))[:limit]
    return [paragraphs[at] for at in sorted(chosen.tolist())]


def _count(sentences: Sequence[LabelledSentence]) -> dict[str, int]:
    return {
        "first sentences": sum(each.first for each in sentences),
        "sentences": len(sentences),
        "transition": sum(each.transition for each in sentences),
    }


def _choose_threshold(dev_parts: dict[str, list[LabelledSentence]], recall: float, out: Path) -> dict[str, dict[str, float]]:
    """Choose the threshold on the dev years of all sets together and write it; returns the dev measures of each set."""
    model = Transitions(out)
    scores = {name: model.scores([each.text for each in part]) for name, part in dev_parts.items()}
    labels = {name: np.array([each.transition for each in part], bool) for name, part in dev_parts.items()}
    # Each set counts the same, whatever its size.
    threshold = float(np.mean([np.quantile(scores[name][labels[name]], 1 - recall) for name in dev_parts]))
    threshold = floor(threshold * 1e4) / 1e4
    write_json(out / THRESHOLD, {"score": threshold})
    return {name: figures(labels[name], scores[name], threshold) for name in dev_parts}


def _write_card(
    recipe: TransitionsRecipe, counts: dict[str, dict[str, int]], dev: dict[str, dict[str, float]], out: Path
) -> None:
    card = {
        "what": "which first sentences of paragraphs introduce a topic: linear word weights, learned from weak labels",
        "recipe": msgspec.to_builtins(recipe),
        "sets": counts,
        "dev": {name: {measure: round(value, 4) for measure, value in measures.items()} for name, measures in dev.items()},
        "citewell": __version__,
        "licence": LICENCE,
    }
    write_json(out / CARD, card)
