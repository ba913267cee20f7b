"""A measure at several depths k for several pipelines: a curve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.tuning import label
from citewell.pipeline.registry import pipeline


def by_depth(request: Request) -> Result:
    """The settings are `measure` (such as R), `depths`, `task`, `pipelines`, and `parameters` of some of the pipelines."""
    parameters: dict[str, dict[str, Any]] = request.settings.get("parameters", {})
    systems = [
        replace(pipeline(name, **parameters.get(name, {})), name=label(name, parameters.get(name, {})))
        for name in request.settings["pipelines"]
    ]
    measures = {depth: f"{request.settings['measure']}@{depth}" for depth in request.settings["depths"]}
    evaluation = Evaluation(
        request.folder,
        request.settings["task"],
        request.split,
        request.sample,
        request.seed,
        measures=list(measures.values()),
        progress=request.progress,
        train=request.train,
    )
    experiment = evaluation.run(systems)
    rows: list[list[str | float]] = [
        [str(depth), *(outcome.mean(measure) for outcome in experiment.outcomes)] for depth, measure in measures.items()
    ]
    return Result(
        ["k", *(each.name for each in systems)],
        rows,
        f"{request.settings['measure']}@k, {len(experiment.queries):,} queries",
        "lines",
    )
