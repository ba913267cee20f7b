"""Measures under the names of ir-measures, and three that it lacks. `term_overlap` has one more, which needs no judgements.

ir-measures (on top of trec_eval) computes all but three. ``F1@k`` is the harmonic mean of P@k and R@k of each query.
``nDCG-HC@k`` is the variant that HybridCite reports: the discount at rank i is log2(i), with none at the first two ranks, and
the ideal ranking consists of the relevant papers retrieved among the first k, not of all relevant ones. ``AP-BioASQ`` is the
official average precision of BioASQ since 2020: of the first ten papers, divided by the number of relevant ones, at most ten;
``sentences:AP-BioASQ`` compares sentences by their characters (`bioasq_measures`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from citewell import extras
from citewell.errors import CitewellError
from citewell.evaluate.bioasq_measures import score_documents
from citewell.evaluate.term_overlap import is_overlap
from citewell.types import Float64Array

Values = Float64Array
"""One value for each query."""
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
"""The measures of every evaluation."""

BIOASQ = "AP-BioASQ"
_OURS = re.compile(rf"(F1|nDCG-HC)@([1-9]\d*)|{BIOASQ}")


def check(names: Sequence[str]) -> None:
    """Raise for a measure that does not exist or cannot be computed here."""
    if names:
        extras.require("ir_measures")
    for name in names:
        try:
            # trec_eval aborts the process if a cut-off is 0.
            if re.search(r"@0*(\D|$)", name):
                raise ValueError(name)
            if not is_overlap(name):
                score([name], {"query": ["paper"]}, {"query": {"paper": 1.0}})
        except Exception:
            raise CitewellError(f"there is no measure {name!r}; examples are {', '.join(STANDARD[4:14])}") from None


def is_hit_rate(name: str) -> bool:
    """Whether a measure is 0 or 1 for every query, so that two systems compare as two proportions."""
    return name.startswith("Success@")


def score(names: Sequence[str], relevant: Mapping[str, Sequence[str]], run: Run) -> dict[str, Values]:
    """The value of each measure for each query, in the order of `relevant`; a query without a ranking has 0."""
    import ir_measures

    from citewell.evaluate.measure_names import parse

    theirs = {name: parse(name) for name in names if not _OURS.fullmatch(name)}
    parts = {name: _precision_and_recall(name) for name in names if name.startswith("F1@")}
    computed = dict(theirs)
    for pair in parts.values():
        computed.update({part: parse(part) for part in pair})
    place = {query: at for at, query in enumerate(relevant)}
    columns = {str(measure): np.zeros(len(relevant)) for measure in computed.values()}
    qrels = {query: dict.fromkeys(papers, 1) for query, papers in relevant.items()}
    rankings = {query: dict(papers) for query, papers in run.items()}
    for each in ir_measures.iter_calc(list(computed.values()), qrels, rankings) if computed else ():
        columns[str(each.measure)][place[each.query_id]] = each.value
    values = {name: columns[str(measure)] for name, measure in theirs.items()}
    for name, (precision, recall) in parts.items():
        values[name] = _harmonic(columns[precision], columns[recall])
    for name in names:
        if name.startswith("nDCG-HC@"):
            depth = int(name.partition("@")[2])
            values[name] = np.array([_hybridcite_ndcg(papers, run.get(query, {}), depth) for query, papers in relevant.items()])
        if name == BIOASQ:
            scores = [score_documents(list(run.get(query, {})), papers) for query, papers in relevant.items()]
            values[name] = np.array([each.average_precision for each in scores])
    return {name: values[name] for name in names}


def _precision_and_recall(name: str) -> tuple[str, str]:
    depth = name.partition("@")[2]
    return f"P@{depth}", f"R@{depth}"


def _harmonic(one: Values, other: Values) -> Values:
    total = one + other
    return np.divide(2 * one * other, total, out=np.zeros_like(total), where=total > 0)


def _hybridcite_ndcg(relevant: Sequence[str], ranking: Mapping[str, float], depth: int) -> float:
    papers = set(relevant)
    ranks = [rank for rank, paper in zip(range(1, depth + 1), ranking, strict=False) if paper in papers]
    ideal = sum(_gain(rank) for rank in range(1, len(ranks) + 1))
    return sum(_gain(rank) for rank in ranks) / ideal if ranks else 0.0


def _gain(rank: int) -> float:
    return 1.0 if rank == 1 else 1.0 / math.log2(rank)
