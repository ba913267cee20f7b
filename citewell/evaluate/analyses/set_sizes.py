"""The size of a set: the queries of one task in each split, and the papers. Every query counts, whatever the sample.

Settings: ``task``.
"""

from __future__ import annotations

from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.statistics import PARTS, statistics


def set_sizes(request: Request) -> Result:
    """One row: the set, its queries by split, and its papers."""
    task = str(request.settings.get("task", "local"))
    figures = statistics(request.folder)
    row: list[str | float] = [figures.name, *(figures.splits[part].queries.get(task, 0) for part in PARTS), figures.documents]
    return Result(["set", "train", "validation", "test", "papers"], [row])
