"""How many queries have a relevant paper among the candidates of the first stage: what a strict regime can train and test on.

Settings: those of `systems`.
"""

from __future__ import annotations

from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import evaluation_of, systems_of


def found_contexts(request: Request) -> Result:
    """For each first stage the number and the share of queries for which it retrieves a relevant paper."""
    systems = systems_of(request)
    experiment = evaluation_of(request).run(systems.pipelines)
    rows: list[list[str | float]] = []
    for outcome in experiment.outcomes:
        found = sum(any(ranks) for ranks in outcome.ranks)
        rows.append([outcome.name, len(outcome.ranks), found, found / len(outcome.ranks)])
    return Result(["first stage", "queries", "found", "share"], rows, systems.note(), "bars")
