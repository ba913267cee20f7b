"""Analyses of published studies that are not a table of pipelines: curves, correlations, experiments, examples.

Each is one module with a function from a `Request` to a `Result`, and one line in `ANALYSES`. A study names the ones it has in
its TOML file, and ``citewell reproduce`` runs them after its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result

ANALYSES: Mapping[str, str] = {
    "by-depth": "citewell.evaluate.analyses.by_depth:by_depth",
    "example": "citewell.evaluate.analyses.example:example",
    "set-splits": "citewell.evaluate.analyses.set_splits:set_splits",
}
"""Name of an analysis to its module and function, as ``module:function``; imported when it is used."""


def names() -> list[str]:
    """The available analyses."""
    return sorted(ANALYSES)


def load(name: str) -> Callable[[Request], Result]:
    """The analysis called `name`."""
    if name not in ANALYSES:
        raise CitewellError(f"there is no analysis {name!r}; choose one of {', '.join(names())}")
    module, _, function = ANALYSES[name].partition(":")
    return cast(Callable[[Request], Result], getattr(import_module(module), function))
