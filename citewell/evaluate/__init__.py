"""Evaluation: data sets, time rules, measures, significance tests, tuning, plots, and published studies.

>>> from citewell.evaluate import experiment
>>> experiment("data/cs", "local", ["bm25", "best"], sample=500)                         # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citewell.evaluate.evaluation import Evaluation, experiment
    from citewell.evaluate.report import Report

__all__ = ["Evaluation", "Report", "experiment"]


def __getattr__(name: str) -> Any:
    """Import what is exported at first use: the command line needs little of it."""
    if name in ("Evaluation", "experiment"):
        from citewell.evaluate import evaluation

        return getattr(evaluation, name)
    if name == "Report":
        from citewell.evaluate.report import Report

        return Report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
