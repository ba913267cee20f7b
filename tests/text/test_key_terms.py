"""Key terms: terms more frequent than chance."""

from __future__ import annotations

import numpy as np

from citewell.text.key_terms import bo1, key_terms


class Library:
    """Three terms: one common, one rare, one that no paper has."""

    def occurrences(self, field: str, hashes: np.ndarray) -> np.ndarray:
        return np.array([{1: 5000, 2: 3, 3: 0}[int(term)] for term in hashes])

    def totals(self, name: str) -> tuple[int, float]:
        return 1000, 100.0


def test_rare_words_come_first_and_unknown_ones_never() -> None:
    result = key_terms({1: ("common", 2), 2: ("rare", 2), 3: ("unknown", 9)}, Library(), 10)
    assert list(result.values()) == [("rare", 1), ("common", 1)]


def test_the_number_of_terms_is_limited() -> None:
    assert len(key_terms({1: ("common", 1), 2: ("rare", 1)}, Library(), 1)) == 1


def test_bo1_by_hand() -> None:
    score = bo1(np.array([2]), np.array([50]), 100)
    assert score[0] == 2 * np.log2(1.5 / 0.5) + np.log2(1.5)
