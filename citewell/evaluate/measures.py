"""Measures, by ir-measures' names, and the two that it lacks (`term_overlap` has one more, which needs no right answers).

ir-measures (trec_eval below it) computes all but two. ``F1@k`` is the harmonic mean of P@k and R@k of each query. ``nDCG-HC@k``
is the variant that HybridCite reports: the discount at rank i is log2(i), none at the first two ranks, and the ideal ranking is
made of the right papers that were found among the first k, not of all right ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.evaluate.measure_names import parse as parse_measure
from citewell.evaluate.term_overlap import is_overlap

Values = npt.NDArray[np.float64]
Run = Mapping[str, Mapping[str, float]]
"""Query to papers and scores, best first; no two scores are equal."""

STANDARD = (
    *(f"P@{k}" for k in (1, 5, 10, 20)),
    *(f"R@{k}" for k in (5, 10, 20, 50, 100, 1000)),
    "F1@20",
    "RR",
    "RR@10",
    "AP",
    "AP@10",
    "nDCG@10",
    "nDCG@20",
    "nDCG-HC@10",
    "Rprec",
    *(f"Success@{k}" for k in (1, 5, 10)),
)
"""What every evaluation reports."""

_OURS = re.compile(r"(F1|nDCG-HC)@([1-9]\d*)")


def check(names: Sequence[str]) -> None:
    """Refuse a measure that nobody knows, or that cannot be computed here."""
    for name in names:
        try:
            # trec_eval aborts the process where a cut-off is 0.
            if re.search(r"@0*(\D|$)", name):
                raise ValueError(name)
            if not is_overlap(name):
                score([name], {"query": ["paper"]}, {"query": {"paper": 1.0}})
        except Exception:
            raise CitewellError(f"there is no measure {name!r}; examples are {', '.join(STANDARD[4:14])}") from None


def is_hit_rate(name: str) -> bool:
    """Whether a measure is 0 or 1 for every query, so that two systems compare as two proportions."""
    return name.startswith("Success@")


def score(names: Sequence[str], wanted: Mapping[str, Sequence[str]], run: Run) -> dict[str, Values]:
    """The value of each measure for each query, in the order of `wanted`; a query without a ranking has 0."""
    theirs = {name: parse_measure(name) for name in names if not _OURS.fullmatch(name)}
    halves = {name: _halves(name) for name in names if name.startswith("F1@")}
    asked = dict(theirs)
    for pair in halves.values():
        asked.update({half: parse_measure(half) for half in pair})
    place = {query: at for at, query in enumerate(wanted)}
    found = {str(measure): np.zeros(len(wanted)) for measure in asked.values()}
    qrels = {query: dict.fromkeys(papers, 1) for query, papers in wanted.items()}
    made = {query: dict(papers) for query, papers in run.items()}
    for each in ir_measures.iter_calc(list(asked.values()), qrels, made) if asked else ():
        found[str(each.measure)][place[each.query_id]] = each.value
    values = {name: found[str(measure)] for name, measure in theirs.items()}
    for name, (precision, recall) in halves.items():
        values[name] = _harmonic(found[precision], found[recall])
    for name in names:
        if name.startswith("nDCG-HC@"):
            depth = int(name.partition("@")[2])
            values[name] = np.array([_hybridcite_ndcg(papers, run.get(query, {}), depth) for query, papers in wanted.items()])
    return {name: values[name] for name in names}


def _halves(name: str) -> tuple[str, str]:
    depth = name.partition("@")[2]
    return f"P@{depth}", f"R@{depth}"


def _harmonic(one: Values, other: Values) -> Values:
    total = one + other
    return np.divide(2 * one * other, total, out=np.zeros_like(total), where=total > 0)


def _hybridcite_ndcg(wanted: Sequence[str], ranking: Mapping[str, float], depth: int) -> float:
    right = set(wanted)
    ranks = [rank for rank, paper in zip(range(1, depth + 1), ranking, strict=False) if paper in right]
    ideal = sum(_gain(rank) for rank in range(1, len(ranks) + 1))
    return sum(_gain(rank) for rank in ranks) / ideal if ranks else 0.0


def _gain(rank: int) -> float:
    return 1.0 if rank == 1 else 1.0 / math.log2(rank)
