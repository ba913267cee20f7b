"""Recipes: what is trained, on which texts, with every number that matters, each a TOML file in ``recipes``."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import msgspec

from citewell.errors import CitewellError


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model is made."""

    about: str
    kind: str
    """The method: a key of `citewell.train.training.KINDS`."""
    text: str
    """What the text of a paper is made of: one of `citewell.train.corpus.TEXTS`."""
    min_count: int
    """Words that occur less often are left out."""
    seed: int
    parameters: dict[str, Any]
    """The method's own numbers."""
    name: str = ""


def recipes() -> list[str]:
    """The names of the recipes at hand."""
    folder = files("citewell.train").joinpath("recipes")
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def load_recipe(name: str) -> Recipe:
    """The recipe called `name`."""
    if name not in recipes():
        raise CitewellError(f"there is no recipe {name!r}; choose one of {', '.join(recipes())}")
    content = tomllib.loads(files("citewell.train").joinpath("recipes", f"{name}.toml").read_text("utf-8"))
    return msgspec.convert({**content, "name": name}, Recipe)
