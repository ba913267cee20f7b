"""The years and sizes of the training and test parts of a set, as HybridCite's Table 1 gives them."""

from __future__ import annotations

from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.queries import judged_queries
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline, when


def set_splits(request: Request) -> Result:
    """The papers up to the last year whose links the split may use, and the contexts that it asks."""
    dataset = DataSet.open(request.folder)
    split = dataset.split(request.split)
    until = split.links_until or 0
    years = [year for paper in dataset.papers() if 0 < (year := when(paper) // 10_000) <= until]
    contexts = len(judged_queries(Timeline(dataset, split), "local"))
    row: list[str | float] = [dataset.name, _span(years), _span(split.years), len(years), contexts]
    return Result(["set", "training years", "test years", "training papers", "test contexts"], [row])


def _span(years: list[int] | frozenset[int]) -> str:
    return "–".join(str(year) for year in dict.fromkeys((min(years), max(years)))) if years else "none"
