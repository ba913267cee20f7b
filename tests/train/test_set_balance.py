"""Training pairs drawn from several sets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch")

SETS = {"question_set": np.array([0] * 90 + [1] * 9 + [2])}


def drawn_by_set(balanced: bool, size: int) -> Counter[int]:
    from citewell.train.set_balance import PairSampler

    torch.manual_seed(0)
    queries = torch.arange(100)
    places = PairSampler(SETS, queries, balanced).draw(size)
    return Counter(SETS["question_set"][queries[places].numpy()].tolist())


def test_every_set_gives_as_many_pairs() -> None:
    assert drawn_by_set(True, 300) == {0: 100, 1: 100, 2: 100}


def test_what_cannot_be_divided_comes_from_the_first_set() -> None:
    assert drawn_by_set(True, 32) == {0: 12, 1: 10, 2: 10}


def test_without_balance_large_sets_give_more() -> None:
    counts = drawn_by_set(False, 1000)
    assert sum(counts.values()) == 1000
    assert counts[0] > 800 and counts[1] < 150


def test_places_are_those_of_the_queries_given() -> None:
    """Several pairs of one query are places of their own."""
    from citewell.train.set_balance import PairSampler

    queries = torch.tensor([99, 0, 0, 99, 95])
    places = PairSampler(SETS, queries, True).draw(600)
    assert set(places.tolist()) == {0, 1, 2, 3, 4}
    assert Counter(SETS["question_set"][queries[places].numpy()].tolist()) == {0: 200, 1: 200, 2: 200}
