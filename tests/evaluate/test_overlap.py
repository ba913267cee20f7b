"""The leak guard finds what a comparison of every title with every other would find."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from citewell.evaluate.overlap import Titles, similar, title_words

WORDS = [f"{letter}{number}" for letter in "abc" for number in range(4)]
titles = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def jaccard(one: str, other: str) -> float:
    some, others = set(one.split()), set(other.split())
    return len(some & others) / len(some | others) if some and others else 0.0


@given(st.lists(titles, max_size=12), st.lists(titles, max_size=12))
def test_it_agrees_with_comparing_every_pair(known: list[str], asked: list[str]) -> None:
    guard = Titles(known)
    # No two sets of at most twelve words are nearer to 0.7 than that without being there.
    assert [guard.overlap(one) for one in asked] == [any(jaccard(one, other) > 0.7 - 1e-9 for other in known) for one in asked]


@given(st.sets(st.integers(0, 150), min_size=1), st.sets(st.integers(0, 150), min_size=1))
def test_long_titles_too(one: set[int], other: set[int]) -> None:
    def written(numbers: set[int]) -> str:
        return " ".join(map(str, numbers))

    expected = 10 * len(one & other) >= 7 * len(one | other)
    assert similar(title_words(written(one)), title_words(written(other))) == expected
    assert Titles([written(other)]).overlap(written(one)) == expected


def test_exactly_seven_of_ten_words_overlap() -> None:
    guard = Titles(["a b c d e f g h i j"])
    assert guard.overlap("a b c d e f g")
    assert not guard.overlap("a b c d e f")
    assert guard.overlap("k l m a b c d e f g h i j")
    assert not guard.overlap("k l m n o a b c d e f g h i j")


def test_case_accents_and_special_characters_do_not_count() -> None:
    guard = Titles(["Gödel's incompleteness: a re-view", ""])
    assert guard.overlap("Go\u0308dels INCOMPLETENESS, a review?")
    assert not guard.overlap("")
    assert not guard.overlap("?!")


def test_fifty_thousand_titles_take_seconds() -> None:
    random = np.random.default_rng(0)
    # Words as in language: few are everywhere, many are rare.
    drawn = np.exp(random.random((100_000, 9)) * np.log(50_000)).astype(int)
    written = [" ".join(map(str, row)) for row in drawn.tolist()]
    before = time.process_time()
    guard = Titles(written[:50_000])
    assert all(guard.overlap(title) for title in written[:1_000])
    assert sum(map(guard.overlap, written[50_000:])) < 5_000
    assert time.process_time() - before < 30
