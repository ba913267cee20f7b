"""The analyses of published studies: each agrees with an evaluation of the same set."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.evaluate.analyses import load
from citewell.evaluate.analyses.contract import Request
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import sampled
from citewell.pipeline.registry import pipeline
from tests.evaluate.small_set import small_set


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return small_set().write(tmp_path / "small")


def test_a_curve_has_the_measure_at_each_depth(folder: Path) -> None:
    settings = {
        "task": "local",
        "depths": [1, 10],
        "systems": [{"pipeline": "bm25", "settings": {"form": "context"}}, "bm25-contexts"],
    }
    result = load("recall-by-depth")(Request(folder, sample=20, settings=settings))
    systems = [pipeline("bm25", form="context"), pipeline("bm25-contexts")]
    outcomes = Evaluation(folder, "local", sample=20, measures=["R@1"]).run(systems).outcomes
    assert result.columns == ["k", "bm25 (form=context)", "bm25-contexts"]
    assert [[k, *map(pytest.approx, values)] for k, *values in result.rows] == [
        [str(k), *(each.mean(f"R@{k}") for each in outcomes)] for k in (1, 10)
    ]


def test_the_example_is_a_query_of_the_set_with_the_cited_papers_marked(folder: Path) -> None:
    result = load("example")(Request(folder, seed=2, settings={"pipelines": ["bm25", "bm25-contexts"], "k": 40}))
    (judged,) = sampled(Evaluation(folder, "local").queries(), 1, 2)
    titles = {f"small:{paper['id']}": paper["title"] for paper in small_set().papers}
    for column in (1, 2):
        marked = [row[column] for row in result.rows if str(row[column]).startswith("✓")]
        assert marked == [f"✓ {titles[name]}" for name in judged.relevant]
    assert f"Query {judged.id}:" in result.note


def test_splits_count_what_may_be_used_and_what_is_asked(folder: Path) -> None:
    (row,) = load("set-splits")(Request(folder)).rows
    queries = len(Evaluation(folder, "local").queries())
    assert row == ["small", "2016–2019", "2020", 48, queries]
