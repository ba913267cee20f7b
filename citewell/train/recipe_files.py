"""Recipe files; a recipe that is ``like`` another states only the differences.

A file in the folder ``families`` has many recipes that differ only in a few choices (`citewell.families`). Machines that only
train read recipes with this module, which needs only Python.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from citewell import families
from citewell.errors import CitewellError

_ENDING = ".toml"


def folder() -> Traversable:
    """The folder of the recipes that ship with citewell."""
    return files("citewell.train").joinpath("recipes")


def names() -> list[str]:
    """The names of these recipes."""
    return sorted([*_single_names(), *_members()])


def listing() -> str:
    """These names in one line, those of a family in a few words."""
    return ", ".join(sorted([*_single_names(), *map(families.pattern, _families())]))


def load(name: str) -> dict[str, Any]:
    """The content of the recipe called `name`, or of the TOML file with this path."""
    return content(Path(name)) if name.endswith(_ENDING) else by_name(name)


def by_name(name: str) -> dict[str, Any]:
    """The content of the recipe called `name`."""
    if name in _members():
        return families.merge(_members()[name], {})
    if name not in _single_names():
        close = get_close_matches(name, names(), 3)
        hint = f"did you mean {' or '.join(close)}? There are" if close else "choose one of"
        raise CitewellError(f"there is no recipe {name!r}; {hint} {listing()}, or name a TOML file of your own")
    return content(folder().joinpath(f"{name}{_ENDING}"))


def content(path: Traversable) -> dict[str, Any]:
    """The content of a file, merged over the recipe that it is ``like``."""
    own = tomllib.loads(path.read_text("utf-8"))
    if (other := own.pop("like", None)) is None:
        return own
    if other not in names():
        raise CitewellError(f"{path} is like {other!r}, but there is no such recipe; there are {listing()}")
    return families.merge(by_name(other), own)


def _single_names() -> list[str]:
    return [path.name.removesuffix(_ENDING) for path in folder().iterdir() if path.name.endswith(_ENDING)]


@lru_cache(maxsize=1)
def _families() -> list[dict[str, Any]]:
    here = folder().joinpath("families")
    return [tomllib.loads(path.read_text("utf-8")) for path in sorted(here.iterdir(), key=lambda path: path.name)]


@lru_cache(maxsize=1)
def _members() -> dict[str, dict[str, Any]]:
    """The recipes of all families by name."""
    return {name: recipe for family in _families() for name, recipe in families.expand(family).items()}
