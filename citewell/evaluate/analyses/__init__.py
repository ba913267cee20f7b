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

_HERE = "citewell.evaluate.analyses"
ANALYSES: Mapping[str, str] = {
    "example": f"{_HERE}.example:example",
    "found-contexts": f"{_HERE}.found_contexts:found_contexts",
    "rank-by-year": f"{_HERE}.rank_by_year:rank_by_year",
    "recall-by-depth": f"{_HERE}.recall_by_depth:recall_by_depth",
    "set-sizes": f"{_HERE}.set_sizes:set_sizes",
    "set-splits": f"{_HERE}.set_splits:set_splits",
    "side-by-side": f"{_HERE}.side_by_side:side_by_side",
    "title-distances": f"{_HERE}.title_distances:title_distances",
    "topic-attention": f"{_HERE}.topic_attention:topic_attention",
    "two-systems": f"{_HERE}.two_systems:two_systems",
    "year-correlations": f"{_HERE}.year_correlations:year_correlations",
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
