"""Fusion against its definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.fuse.reciprocal_rank import ReciprocalRank
from citewell.fuse.semi_genetic import SemiGenetic
from citewell.fuse.weighted_sum import WeightedSum
from citewell.papers import Query, Ranking, Reason
from citewell.ranking.request import Request

LISTS = st.lists(st.lists(st.integers(1, 15), unique=True, max_size=10), min_size=1, max_size=3)
REQUEST = Request(None, Query(title="boats"))  # type: ignore[arg-type]


class Fixed:
    """A component that always gives the same ranking."""

    def __init__(self, papers: list[int], scores: list[float] | None = None, kind: str = "words") -> None:
        self._ranking = Ranking(np.array(papers, np.int64), np.array(scores or range(len(papers), 0, -1), np.float32))
        self._kind = kind

    def rank(self, request: Request) -> Ranking:
        return self._ranking

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> dict[int, list[Reason]]:
        return {num: [Reason(self._kind, "")] for num in papers if num in self._ranking.papers}


def fused(stage: Any) -> dict[int, float]:
    ranking = stage.retrieve(REQUEST)
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    return dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True))


@settings(deadline=None)
@given(LISTS)
def test_reciprocal_ranks_are_summed(lists: list[list[int]]) -> None:
    expected: dict[int, float] = {}
    for papers in lists:
        for rank, paper in enumerate(papers, 1):
            expected[paper] = expected.get(paper, 0.0) + 1 / (60 + rank)
    assert fused(ReciprocalRank(tuple(map(Fixed, lists)))) == pytest.approx(expected)


@settings(deadline=None)
@given(LISTS.filter(lambda lists: any(lists)))
def test_the_expectation_of_the_semi_genetic_hybrid_equals_the_mean_of_many_draws(lists: list[list[int]]) -> None:
    components = tuple(map(Fixed, lists))
    fitness: dict[int, float] = {}
    for papers in lists:
        for rank, paper in enumerate(papers, 1):
            fitness[paper] = fitness.get(paper, 0.0) + 1 / rank
    total = sum(fitness.values())
    exact = fused(SemiGenetic(components))
    assert exact == pytest.approx({paper: value / total for paper, value in fitness.items()})
    drawn = fused(SemiGenetic(components, draws=1_000_000))
    assert sum(drawn.values()) == 1_000_000
    for paper, chance in exact.items():
        assert drawn.get(paper, 0) == pytest.approx(1_000_000 * chance, abs=5_000)


def test_draws_are_the_same_for_the_same_seed() -> None:
    components = (Fixed([1, 2, 3]), Fixed([3, 4]))
    assert fused(SemiGenetic(components, draws=500)) == fused(SemiGenetic(components, draws=500))
    assert fused(SemiGenetic(components, draws=500)) != fused(SemiGenetic(components, draws=500, seed=1))


@pytest.mark.parametrize("draws", [0, 1_000_000])
def test_equal_papers_come_in_a_random_order_that_is_the_same_for_the_same_query(draws: int) -> None:
    stage = SemiGenetic((Fixed([1]), Fixed([2])), draws=draws)
    requests = [Request(None, Query(title=f"boats {number}")) for number in range(200)]  # type: ignore[arg-type]
    first = [int(stage.retrieve(request).papers[0]) for request in requests]
    assert 70 < first.count(1) < 130
    assert first == [int(stage.retrieve(request).papers[0]) for request in requests]


def test_the_weights_of_the_semi_genetic_hybrid_scale_the_fitness() -> None:
    components = (Fixed([1, 2]), Fixed([2, 3]), Fixed([4]))
    exact = fused(SemiGenetic(components, weights=(0.2, 0.2, 0.6)))
    fitness = {1: 0.2, 2: 0.1 + 0.2, 3: 0.1, 4: 0.6}
    assert exact == pytest.approx({paper: value / 1.2 for paper, value in fitness.items()})


def test_the_population_is_the_first_of_each() -> None:
    assert set(fused(SemiGenetic((Fixed([1, 2, 3]), Fixed([4, 5, 6])), first=2))) == {1, 2, 4, 5}


def test_weighted_sums_scale_each_ranking_first() -> None:
    components = (Fixed([1, 2, 3], [30.0, 20.0, 10.0]), Fixed([3, 4], [0.9, 0.1]))
    assert fused(WeightedSum(components, (1.0, 0.5))) == pytest.approx({1: 1.0, 2: 0.5, 3: 0.5, 4: 5e-7}, abs=2e-6)
    assert fused(WeightedSum((Fixed([7]),))) == {7: 1.0}


@pytest.mark.parametrize("stage", [ReciprocalRank, WeightedSum, SemiGenetic])
def test_weights_must_be_as_many_as_components(stage: Any) -> None:
    with pytest.raises(CitewellError, match="needs 2 weights, not 1"):
        stage((Fixed([1]), Fixed([2])), weights=(1.0,)).retrieve(REQUEST)


def test_empty_rankings_fuse_to_an_empty_ranking() -> None:
    for stage in (ReciprocalRank, WeightedSum, SemiGenetic):
        assert fused(stage((Fixed([]), Fixed([])))) == {}


def test_each_kind_of_reason_is_given_once() -> None:
    stage = ReciprocalRank((Fixed([1, 2]), Fixed([1]), Fixed([1, 3], kind="path")))
    assert {
        num: [each.kind for each in reasons]
        for num, reasons in stage.explain(REQUEST, stage.retrieve(REQUEST), [1, 2, 3]).items()
    } == {
        1: ["words", "path"],
        2: ["words"],
        3: ["path"],
    }
