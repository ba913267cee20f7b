"""The average rank of cited papers by their year of publication, or by the years between citing and cited paper.

Settings: those of `systems`; ``by``, which is ``year`` or ``gap``; and ``fewest``, how many cited papers a row needs.
"""

from __future__ import annotations

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import systems_of
from citewell.evaluate.analyses.year_pairs import year_pairs


def rank_by_year(request: Request) -> Result:
    """The mean rank of the cited papers of each year under each system."""
    by, fewest = str(request.settings.get("by", "year")), int(request.settings.get("fewest", 1))
    if by not in ("year", "gap"):
        raise CitewellError(f"the setting 'by' must be year or gap, not {by!r}")
    systems = systems_of(request)
    pairs = year_pairs(request, systems)
    values = pairs.year if by == "year" else pairs.gap
    rows: list[list[str | float]] = []
    left_out = 0
    for value in np.unique(values).tolist():
        here = values == value
        if np.count_nonzero(here) < fewest:
            left_out += int(np.count_nonzero(here))
            continue
        means = [float(pairs.ranks[name][here].mean()) for name in systems.names]
        rows.append([str(value), *means, int(np.count_nonzero(here))])
    few = f"{left_out} cited papers of years with fewer than {fewest} are left out." if left_out else ""
    first = "published in" if by == "year" else "gap in years"
    columns = [first, *(f"mean rank, {name}" for name in systems.names), "cited papers"]
    return Result(columns, rows, systems.note(pairs.note(), few), "lines")
