"""Slices on small cases counted by hand, and against slow, obvious implementations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.evaluate.outcomes import Experiment, Outcome
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.sets import DataSet
from citewell.evaluate.slices import (
    CITATIONS,
    FEW_CITATIONS,
    OVERLAP,
    RANKS,
    YEAR_GAP,
    Bins,
    cited_papers,
    pairs_of,
    recall_curve,
    slice_pairs,
    wilson,
)
from citewell.evaluate.strict import Timeline
from citewell.papers import Query

PAPERS: list[dict[str, Any]] = [
    {"id": "late", "title": "Cites too late to be known", "year": 2015, "references": ["old", "young"]},
    {"id": "old", "doi": "10.1000/old", "title": "Boats", "abstract": "We count boats near piers.", "year": 1990},
    {"id": "young", "title": "Gulls and wings", "year": 2013},
    {"id": "one", "title": "First of two that cite", "year": 2011, "references": ["old", "doi:10.1000/old"]},
    {"id": "two", "title": "Second of two that cite", "year": 2014, "references": ["doi:10.1000/old"]},
    {"id": "asks", "title": "Counting boats and gulls", "year": 2015, "references": ["old", "young"]},
    {"id": "preprint", "title": "Counting boats and gulls", "year": 2014, "references": ["young"]},
]
"""Two papers cite the old one, the first of them by two names; the preprint of the citing paper must not count."""


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    (tmp_path / "set.toml").write_text('name = "toy"\ntasks = ["local"]\ntrain_until = 2014\ndev = [2015]\ntest = [2016]\n')
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in PAPERS))
    dataset = DataSet.open(tmp_path)
    return Timeline(dataset, dataset.split("dev"))


def named(timeline: Timeline, name: str) -> str:
    return timeline.dataset.naming()(name)


def judged(name: str, relevant: list[str]) -> JudgedQuery:
    return JudgedQuery(name, Query("local", "counted boats", context="gulls TARGETCIT fly"), relevant, 2015_9999)


def outcome(name: str, ranks: list[list[int]]) -> Outcome:
    return Outcome(name, {}, ranks, None)


def test_a_relevant_paper_has_its_year_its_terms_and_its_citations(timeline: Timeline) -> None:
    old, young = named(timeline, "old"), named(timeline, "young")
    cited = cited_papers(timeline, {old, young, "doi:10.1000/old"})
    assert (cited[old].year, cited[old].citations, len(cited[old].terms)) == (1990, 2, 4)  # boat, count, near, pier
    assert cited["doi:10.1000/old"] == cited[old]
    assert (cited[young].year, cited[young].citations) == (2013, 0)


def test_pairs_have_the_order_of_queries_and_relevant_papers(timeline: Timeline) -> None:
    old, young = named(timeline, "old"), named(timeline, "young")
    queries = [judged("q1", [young, old]), judged("q2", [old, young]), judged("q3", [old])]
    experiment = Experiment(
        queries,
        [["young", "old"], ["old"], ["old"]],
        [outcome("a", [[7, 0], [1], [11]]), outcome("b", [[1, 2], [3], [4]])],
        0.0,
        0,
    )
    pairs = pairs_of(experiment, timeline)
    assert pairs.skipped == 1
    assert pairs.year_gap.tolist() == [2, 25, 25]
    assert pairs.citations.tolist() == [0, 2, 2]
    assert pairs.overlap.tolist() == [1 / 4, 2 / 4, 2 / 4]  # of gull, fly, count, boat
    assert {name: ranks.tolist() for name, ranks in pairs.ranks.items()} == {"a": [7, 0, 11], "b": [1, 2, 4]}


def test_slices_count_pairs_and_those_retrieved_in_the_top_ten() -> None:
    ranks = {"a": np.array([1, 10, 11, 0]), "b": np.array([0, 0, 0, 3])}
    part = slice_pairs(np.array([0, 5, 4, 300]), YEAR_GAP, ranks)
    assert part.pairs.tolist() == [1, 0, 0, 0, 2, 0, 0, 1]
    assert part.retrieved["a"].tolist() == [1, 0, 0, 0, 1, 0, 0, 0]
    assert part.retrieved["b"].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]
    assert part.recall("a")[[0, 4, 7]].tolist() == [1, 0.5, 0]
    assert np.isnan(part.recall("a")[1])
    assert np.isnan(part.interval("a")[0][1])


def test_the_ranges_of_citation_counts() -> None:
    part = slice_pairs(np.array([0, 0, 1, 4, 5, 20, 21, 900]), FEW_CITATIONS, {"a": np.array([1, 0, 2, 0, 10, 11, 3, 4])})
    assert dict(zip(part.bins.labels, part.pairs.tolist(), strict=True)) == {"never": 2, "1–4": 2, "5–20": 2, "more": 2}
    assert part.recall("a").tolist() == [0.5, 0.5, 0.5, 1.0]


def test_no_pairs_give_empty_bins() -> None:
    part = slice_pairs(np.array([], np.int64), CITATIONS, {"a": np.array([], np.int64)})
    assert part.pairs.tolist() == part.retrieved["a"].tolist() == [0] * 8


def within(value: float, label: str) -> bool:
    """Whether a value belongs to the bin with this label."""
    if label.endswith("+"):
        return value >= float(label[:-1])
    low, dash, high = label.partition("–")
    whole = "." not in label
    return float(low) <= value and (value <= float(high or low) if whole or not dash else value < float(high))


@pytest.mark.parametrize("bins", [YEAR_GAP, CITATIONS, OVERLAP])
@given(data=st.data())
def test_bins_match_their_labels(bins: Bins, data: st.DataObject) -> None:
    value = st.integers(0, 100).map(lambda part: part / 100) if bins is OVERLAP else st.integers(0, 200)
    pairs = data.draw(st.lists(st.tuples(value, st.integers(0, 20)), max_size=30))
    values, ranks = np.array([value for value, _ in pairs]), np.array([rank for _, rank in pairs], np.int64)
    part = slice_pairs(values, bins, {"a": ranks})
    assert part.pairs.tolist() == [sum(within(value, label) for value, _ in pairs) for label in bins.labels]
    assert part.retrieved["a"].tolist() == [
        sum(within(value, label) and 1 <= rank <= 10 for value, rank in pairs) for label in bins.labels
    ]


@given(st.lists(st.lists(st.integers(0, 1500), max_size=6), min_size=1, max_size=8))
def test_recall_at_every_cut_off(ranks: list[list[int]]) -> None:
    slow = [sum(sum(1 <= rank <= k for rank in each) / max(1, len(each)) for each in ranks) / len(ranks) for k in RANKS]
    assert recall_curve(ranks) == pytest.approx(slow)


@given(st.integers(1, 500).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size))))
def test_the_wilson_interval_is_where_the_score_test_just_does_not_reject(case: tuple[int, int]) -> None:
    hits, size = case
    low, high = (float(end[0]) for end in wilson(np.array([hits]), np.array([size])))
    assert 0 <= low <= hits / size + 1e-12 and hits / size - 1e-12 <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            assert abs(hits / size - end) / math.sqrt(end * (1 - end) / size) == pytest.approx(1.959964, rel=1e-6)
