"""Recipe files; a recipe that is ``like`` another states only the differences.

Machines that only train read recipes with this module, which needs only Python.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from citewell.errors import CitewellError


def folder() -> Traversable:
    """The folder of the recipes that ship with citewell."""
    return files("citewell.train").joinpath("recipes")


def names() -> list[str]:
    """The names of these recipes."""
    return sorted(path.name.removesuffix(".toml") for path in folder().iterdir() if path.name.endswith(".toml"))


def content(path: Traversable) -> dict[str, Any]:
    """The content of a file, merged over the recipe that it is ``like``."""
    own = tomllib.loads(path.read_text("utf-8"))
    if (other := own.pop("like", None)) is None:
        return own
    if other not in names():
        raise CitewellError(f"{path} is like {other!r}, but there is no such recipe; there are {', '.join(names())}")
    return _merge(content(folder().joinpath(f"{other}.toml")), own)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = {
        name: _merge(below[name], value) if isinstance(value, dict) and isinstance(below.get(name), dict) else value
        for name, value in above.items()
    }
    return {**below, **merged}
