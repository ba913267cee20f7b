"""Recipes made short: a model is trained in minutes on a CPU, to see that everything runs. Its figures mean nothing."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from citewell.train.recipe import EvidenceRecipe, LibraryRecipe, PackRecipe, Recipe, WordsRecipe

STEPS = 20
_AT_MOST: dict[str, Any] = {
    "steps": STEPS,
    "epochs": 1,
    "text_epochs": 1,
    "passes": 1,
    "own_passes": 1,
    "walks": 1,
    "topics": 50,
    "pairs": 8,
    "batch": 64,
    "hard_batch": 32,
    "queries": 4,
    "sentences": 2000,
    "sample": 200,
    "dev_every": STEPS,
    "dev_queries": 10,
    "dev_sample": 50,
    "dev_depth": 20,
    "mine_limit": 1000,
    "kept": 16,
}
"""The largest value of each setting; others stay as they are."""
_SHARES = ("sample",)
"""A share of frequent words in some recipes, which stays as it is, and a number in others."""

AnyRecipe = TypeVar("AnyRecipe", LibraryRecipe, PackRecipe, EvidenceRecipe, WordsRecipe, Recipe)


def shortened(recipe: AnyRecipe) -> AnyRecipe:
    """The recipe with few steps, epochs and samples."""
    content = msgspec.to_builtins(recipe)
    if content.get("kind") == "paragraph":
        content["numbers"]["epochs"] = 0.01
    for section in ("parameters", "numbers", "negatives", "words"):
        if section in content:
            content[section] = _limited(content[section])
    if "queries" in content:
        content["queries"]["samples"] = dict.fromkeys(content["queries"]["samples"], 50)
    if "mine_at" in content.get("numbers", {}):
        content["numbers"]["mine_at"] = ()
    made: AnyRecipe = msgspec.convert(content, type(recipe))
    return made


def _limited(section: dict[str, Any]) -> dict[str, Any]:
    limited: dict[str, Any] = {}
    for name, value in section.items():
        if isinstance(value, dict):
            limited[name] = _limited(value)
        elif name in _AT_MOST and isinstance(value, int | float) and not (name in _SHARES and 0 < value < 1):
            limited[name] = min(value, _AT_MOST[name])
        else:
            limited[name] = value
    return limited
