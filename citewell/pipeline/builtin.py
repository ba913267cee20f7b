"""The pipelines that ship, as data: ``pipelines.toml``, and ``published.toml`` for those that need weights of a study."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def pipelines() -> dict[str, Any]:
    """The pipelines that work out of the box, or after ``citewell train``."""
    return _read("pipelines.toml")


def published() -> dict[str, Any]:
    """The re-rankers of published studies."""
    return _read("published.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("citewell.pipeline").joinpath(name).read_text("utf-8"))
