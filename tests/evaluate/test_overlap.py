"""Title matching gives the same result as comparing every title with every other."""

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
def test_matching_agrees_with_comparing_every_pair(known: list[str], titles: list[str]) -> None:
    matcher = Titles(known)
    # No two sets of at most twelve words are nearer to 0.7 than that without being there.
    assert [matcher.overlap(one) for one in titles] == [
        any(jaccard(one, other) > 0.7 - 1e-9 for other in known) for one in titles
    ]


@given(st.sets(st.integers(0, 150), min_size=1), st.sets(st.integers(0, 150), min_size=1))
def test_long_titles_too(one: set[int], other: set[int]) -> None:
    def written(numbers: set[int]) -> str:
        return " ".join(map(str, numbers))

    expected = 10 * len(one & other) >= 7 * len(one | other)
    assert similar(title_words(written(one)), title_words(written(other))) == expected
    assert Titles([written(other)]).overlap(written(one)) == expected


def test_exactly_seven_of_ten_words_overlap() -> None:
    matcher = Titles(["a b c d e f g h i j"])
    assert matcher.overlap("a b c d e f g")
    assert not matcher.overlap("a b c d e f")
    assert matcher.overlap("k l m a b c d e f g h i j")
    assert not matcher.overlap("k l m n o a b c d e f g h i j")


def test_case_accents_and_special_characters_do_not_count() -> None:
    matcher = Titles(["Gödel's incompleteness: a re-view", ""])
    assert matcher.overlap("Go\u0308dels INCOMPLETENESS, a review?")
    assert not matcher.overlap("")
    assert not matcher.overlap("?!")


def test_fifty_thousand_titles_take_seconds() -> None:
    random = np.random.default_rng(0)
    # Words as in language: few are everywhere, many are rare.
    drawn = np.exp(random.random((100_000, 9)) * np.log(50_000)).astype(int)
    written = [" ".join(map(str, row)) for row in drawn.tolist()]
    before = time.process_time()
    matcher = Titles(written[:50_000])
    assert all(matcher.overlap(title) for title in written[:1_000])
    assert sum(map(matcher.overlap, written[50_000:])) < 5_000
    assert time.process_time() - before < 30
