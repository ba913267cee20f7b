"""Recall of first stages by the number of candidates that they pass on.

Settings: those of `systems`, and ``depths``, up to 1000.
"""

from __future__ import annotations

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import evaluation_of, systems_of
from citewell.evaluate.runner import DEPTH
from citewell.evaluate.slices import TICKS, recall_curve


def recall_by_depth(request: Request) -> Result:
    """R@k of each system for each k."""
    depths = [int(depth) for depth in request.settings.get("depths", TICKS)]
    if min(depths) < 1 or max(depths) > DEPTH:
        raise CitewellError(f"the setting 'depths' must be from 1 to {DEPTH}")
    systems = systems_of(request)
    experiment = evaluation_of(request).run(systems.pipelines)
    curves = [recall_curve(outcome.ranks, np.array(depths)).tolist() for outcome in experiment.outcomes]
    rows: list[list[str | float]] = [[str(depth), *values] for depth, *values in zip(depths, *curves, strict=True)]
    return Result(["k", *systems.names], rows, systems.note(f"{len(experiment.queries):,} queries."), "lines")
