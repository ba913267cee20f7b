"""The pipelines that ship, as data: ``pipelines.toml``, and for those that need weights of a study ``families.toml`` and
``published.toml``."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from citewell.families import expand, pattern


def pipelines() -> dict[str, Any]:
    """The pipelines that work out of the box, or after ``citewell train``."""
    return _read("pipelines.toml")


def published() -> dict[str, Any]:
    """The re-rankers of published studies; members of a family say how the names of all its members are made."""
    known: dict[str, Any] = {}
    for family in _read("families.toml").values():
        names = pattern(family)
        known |= {name: {**definition, "family": names} for name, definition in expand(family).items()}
    return known | _read("published.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("citewell.pipeline").joinpath(name).read_text("utf-8"))
