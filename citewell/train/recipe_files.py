"""What the files of recipes say; a recipe that is ``like`` another one says only where it differs.

Machines that only train read recipes by this module, which needs nothing but Python.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from citewell.errors import CitewellError


def folder() -> Traversable:
    """Where the recipes lie that come with citewell."""
    return files("citewell.train").joinpath("recipes")


def names() -> list[str]:
    """What these are called."""
    return sorted(path.name.removesuffix(".toml") for path in folder().iterdir() if path.name.endswith(".toml"))


def content(path: Traversable) -> dict[str, Any]:
    """What a file says, on top of what the recipe says that it is ``like``."""
    found = tomllib.loads(path.read_text("utf-8"))
    if (other := found.pop("like", None)) is None:
        return found
    if other not in names():
        raise CitewellError(f"{path} is like {other!r}, but there is no such recipe; there are {', '.join(names())}")
    return _on_top(content(folder().joinpath(f"{other}.toml")), found)


def _on_top(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = {
        name: _on_top(below[name], value) if isinstance(value, dict) and isinstance(below.get(name), dict) else value
        for name, value in above.items()
    }
    return {**below, **merged}
