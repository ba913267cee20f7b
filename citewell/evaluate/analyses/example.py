"""One query with the best papers of several pipelines side by side, as HybridCite's Table 3 shows one.

``citewell compare`` shows any other query. Here it is a random one, so nobody has chosen a favourable example.
"""

from __future__ import annotations

from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.side_by_side import side_by_side_in_set
from citewell.pipeline.registry import pipeline
from citewell.text.citation_contexts import shorten_context

_MAX_CONTEXT = 400
"""Length of the shown context in characters."""


def example(request: Request) -> Result:
    """The settings are `pipelines`, their names, and `k`, how many papers of each are shown."""
    names: list[str] = request.settings["pipelines"]
    shown = side_by_side_in_set(
        request.folder,
        [pipeline(name) for name in names],
        split=request.split,
        k=request.settings["k"],
        seed=request.seed,
        progress=request.progress,
        train=request.train,
    )
    rows: list[list[str | float]] = []
    for at in range(max(len(results) for results in shown.results.values())):
        papers = [results[at].paper if at < len(results) else None for results in shown.results.values()]
        cells = [f"{'✓ ' if shown.is_relevant(paper) else ''}{paper.title or paper.id}" if paper else "" for paper in papers]
        rows.append([str(at + 1), *cells])
    cited = "; ".join(paper.title or paper.id for paper in shown.relevant or [])
    note = f"Query {shown.source['id']}: “{shorten_context(shown.query.context, _MAX_CONTEXT)}” Cited there (✓): {cited}."
    return Result(["rank", *names], rows, note)
