"""A measure at several depths k for several pipelines: a curve."""

from __future__ import annotations

from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.evaluation import Evaluation


def by_depth(request: Request) -> Result:
    """The settings are `measure` (such as R), `depths`, `task` and `pipelines`."""
    names: list[str] = request.settings["pipelines"]
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
    experiment = evaluation.run(names)
    rows: list[list[str | float]] = [
        [str(depth), *(outcome.mean(measure) for outcome in experiment.outcomes)] for depth, measure in measures.items()
    ]
    return Result(["k", *names], rows, f"{request.settings['measure']}@k, {len(experiment.queries):,} queries", "lines")
