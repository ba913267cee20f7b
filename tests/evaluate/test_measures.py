"""Measures against trec_eval and against slow implementations of their definitions."""

from __future__ import annotations

import math

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.measure_names import parse
from citewell.evaluate.measures import STANDARD, score
from citewell.evaluate.trec import strictly_falling

PAPERS = [f"p{number}" for number in range(40)]
relevant = st.lists(st.sampled_from(PAPERS), min_size=1, max_size=8, unique=True)
ranked = st.lists(st.sampled_from(PAPERS), max_size=40, unique=True)


def run_of(papers: list[str]) -> dict[str, float]:
    return dict(zip(papers, range(len(papers), 0, -1), strict=True))


def slowly(name: str, relevant: list[str], papers: list[str]) -> float:
    """Each measure from its definition."""
    kind, _, at = name.partition("@")
    depth = int(at) if at else len(papers)
    hits = [paper in relevant for paper in papers[:depth]]
    retrieved = sum(hits)
    match kind:
        case "P":
            return retrieved / depth
        case "R":
            return retrieved / len(relevant)
        case "F1":
            precision, recall = retrieved / depth, retrieved / len(relevant)
            return 2 * precision * recall / (precision + recall) if retrieved else 0.0
        case "RR":
            return next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
        case "AP":
            return sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, 1) if hit) / len(relevant)
        case "Success":
            return float(retrieved > 0)
        case "Rprec":
            return sum(paper in relevant for paper in papers[: len(relevant)]) / len(relevant)
        case "nDCG":
            best = sum(1 / math.log2(rank + 1) for rank in range(1, min(depth, len(relevant)) + 1))
            return sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, 1) if hit) / best
        case "nDCG-HC":
            ideal = sorted(hits, reverse=True)
            best = sum(1 / max(1.0, math.log2(rank)) for rank, hit in enumerate(ideal, 1) if hit)
            return sum(1 / max(1.0, math.log2(rank)) for rank, hit in enumerate(hits, 1) if hit) / best if retrieved else 0.0
    raise AssertionError(name)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(relevant, ranked), min_size=1, max_size=6))
def test_every_measure_matches_its_definition(queries: list[tuple[list[str], list[str]]]) -> None:
    judgements = {f"q{at}": papers for at, (papers, _) in enumerate(queries)}
    run = {f"q{at}": run_of(papers) for at, (_, papers) in enumerate(queries)}
    values = score(STANDARD, judgements, run)
    for name in STANDARD:
        expected = [slowly(name, papers, list(run[query])) for query, papers in judgements.items()]
        np.testing.assert_allclose(values[name], expected, atol=1e-6, err_msg=name)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(relevant, ranked.filter(bool)), min_size=1, max_size=6))
def test_values_equal_those_of_ir_measures_and_trec_eval(queries: list[tuple[list[str], list[str]]]) -> None:
    judgements = {f"q{at}": papers for at, (papers, _) in enumerate(queries)}
    run = {f"q{at}": run_of(papers) for at, (_, papers) in enumerate(queries)}
    qrels = {query: dict.fromkeys(papers, 1) for query, papers in judgements.items()}
    values = score(STANDARD, judgements, run)
    theirs = [name for name in STANDARD if not name.startswith(("F1", "nDCG-HC"))]
    for measure, value in ir_measures.calc_aggregate([parse(name) for name in theirs], qrels, run).items():
        assert values[str(measure)].mean() == pytest.approx(value, abs=1e-6)
    names = {"recall_10": "R@10", "P_5": "P@5", "recip_rank": "RR", "map": "AP", "ndcg_cut_10": "nDCG@10", "Rprec": "Rprec"}
    names_of_theirs = {"recall.10", "P.5", "recip_rank", "map", "ndcg_cut.10", "Rprec"}
    raw = pytrec_eval.RelevanceEvaluator(qrels, names_of_theirs).evaluate(run)
    for theirs_name, ours in names.items():
        np.testing.assert_allclose(values[ours], [raw[query][theirs_name] for query in judgements], atol=1e-6)


def test_a_query_without_a_ranking_scores_nothing() -> None:
    values = score(("R@10", "F1@20", "nDCG-HC@10"), {"q1": ["a"], "q2": ["b"]}, {"q1": {"a": 1.0}})
    assert {name: column.tolist() for name, column in values.items()}["R@10"] == [1.0, 0.0]
    assert values["nDCG-HC@10"].tolist() == [1.0, 0.0]


def test_hybridcites_ndcg_differs_from_the_usual_one_where_it_should() -> None:
    second = score(("nDCG@10", "nDCG-HC@10"), {"q": ["a"]}, {"q": {"x": 2.0, "a": 1.0}})
    assert second["nDCG-HC@10"][0] == 1.0
    assert second["nDCG@10"][0] == pytest.approx(1 / math.log2(3))
    missing = score(("nDCG@10", "nDCG-HC@10"), {"q": ["a", "b"]}, {"q": {"a": 1.0}})
    assert missing["nDCG-HC@10"][0] == 1.0
    assert missing["nDCG@10"][0] < 1.0


def test_an_unknown_measure_is_an_error() -> None:
    measures.check(["F1@7", "nDCG-HC@3", "nDCG@20", "Judged@10"])
    with pytest.raises(CitewellError, match="there is no measure 'recall'"):
        measures.check(["recall"])


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=30))
def test_ties_are_broken_by_rank(numbers: list[float]) -> None:
    scores = np.sort(np.array(numbers, np.float32))[::-1]
    falling = strictly_falling(scores)
    assert (falling[1:] < falling[:-1]).all()
    np.testing.assert_allclose(falling, scores, atol=1e-4)
