"""How the years between citing and cited paper go with the rank of the cited paper, and with the words that both share.

Pearson's correlation over all pairs of a query and a cited paper. The vocabulary is compared by the Jaccard index of the words
of the query (title, abstract and topic sentence or context) and of the cited paper (title and abstract). Settings: those of
`systems`.
"""

from __future__ import annotations

from citewell import extras
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import systems_of
from citewell.evaluate.analyses.year_pairs import year_pairs
from citewell.types import Float64Array


def year_correlations(request: Request) -> Result:
    """The correlation of the gap in years with each system's rank, and with the Jaccard index."""
    systems = systems_of(request)
    pairs = year_pairs(request, systems)
    gap = pairs.gap.astype("float64")
    rows: list[list[str | float]] = [[f"rank by {name}", *pearson(gap, pairs.ranks[name])] for name in systems.names]
    rows.append(["Jaccard index of query and cited paper", *pearson(gap, pairs.jaccard)])
    size = f"{len(gap):,} pairs. The p-values take pairs as independent, although those of one paper are not."
    return Result(["gap in years and", "Pearson's r", "p"], rows, systems.note(size, pairs.note()))


def pearson(one: Float64Array, other: Float64Array) -> tuple[float, float]:
    """Pearson's correlation and its two-sided p-value; NaN if either never varies or there are fewer than three pairs."""
    if len(one) < 3 or not one.std() or not other.std():
        return float("nan"), float("nan")
    extras.require("scipy")
    from scipy import stats

    result = stats.pearsonr(one, other)
    return float(result.statistic), float(result.pvalue)
