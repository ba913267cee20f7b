"""Papers that are put among the candidates of a re-ranker."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from citewell.papers import Ranking
from citewell.ranking.insertion import insert, missing

NUMBERS = st.lists(st.integers(1, 30), unique=True, max_size=12)


def ranking(papers: list[int]) -> Ranking:
    return Ranking(np.array(papers, np.int64), np.linspace(5, 1, len(papers)).astype(np.float32))


@given(NUMBERS, NUMBERS, st.none() | st.integers(1, 15))
def test_all_are_among_the_candidates_and_nothing_is_lost(papers: list[int], wanted: list[int], window: int | None) -> None:
    result = insert(ranking(papers), np.array(wanted, np.int64), window)
    found = result.papers.tolist()
    assert set(found) == {*papers, *wanted} and len(found) == len(set(found))
    assert (np.diff(result.scores) <= 0).all()
    if window is None or len(wanted) <= window:
        assert set(wanted) <= set(found[:window])
    assert not len(missing(result, np.array(wanted, np.int64), None))


def test_those_that_make_room_are_not_to_be_inserted() -> None:
    assert insert(ranking([1, 2, 3]), np.array([2, 9]), 2).papers.tolist() == [2, 9, 1, 3]
    assert insert(ranking([1, 2, 3]), np.array([9]), 2).papers.tolist() == [1, 9, 2, 3]
    assert insert(ranking([1, 2, 3]), np.array([9]), None).papers.tolist() == [1, 2, 3, 9]
    assert insert(ranking([1, 2, 3]), np.array([2]), 2).papers.tolist() == [1, 2, 3]
