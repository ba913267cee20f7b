"""Two systems compared by the tests of the thesis: a t-test for RR, a z-test of two proportions for recall.

The t-test is paired by query. The z-test takes R@10 as a proportion, which it is where queries have one relevant paper.
Settings: those of `systems` (two of them), and ``lenient``.
"""

from __future__ import annotations

from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import evaluation_of, systems_of
from citewell.evaluate.significance import paired_t, proportions


def two_systems(request: Request) -> Result:
    """R@10 and RR of both systems with the p-value of their difference."""
    systems = systems_of(request)
    if len(systems.pipelines) != 2:
        raise CitewellError(" ".join(systems.missing) or "the analysis compares two systems; name two in 'systems'")
    evaluation = evaluation_of(request)
    evaluation.lenient = bool(request.settings.get("lenient", False))
    one, other = evaluation.run(systems.pipelines).outcomes
    rows: list[list[str | float]] = []
    for measure in ("R@10", "RR"):
        first, second = one.values[measure], other.values[measure]
        p = paired_t(first - second) if measure == "RR" else proportions(first, second)
        rows.append([measure, float(first.mean()), float(second.mean()), p])
    rule = "lenient: missed papers are put among the candidates" if evaluation.lenient else "strict"
    return Result(["measure", *systems.names, "p"], rows, f"{len(one.ranks):,} queries, {rule}.")
