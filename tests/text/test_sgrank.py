"""Key terms of one or more words."""

from __future__ import annotations

from citewell.text.analysis import Vocabulary
from citewell.text.sgrank import key_terms, runs


def test_runs_end_at_stop_words_and_punctuation() -> None:
    vocabulary = Vocabulary()
    gull, harbour, tide, count = map(vocabulary.number, (b"gull", b"harbour", b"tide", b"count"))
    assert runs("The gulls of harbour tides, count.", vocabulary) == [[gull], [harbour, tide], [count]]
    assert runs("of the, and!", vocabulary) == []


def test_rare_words_and_long_terms_come_first() -> None:
    rarity = {1: 5.0, 2: 5.0, 3: 0.5, 4: 3.0}.__getitem__
    best = key_terms([[1, 2], [3], [4]], rarity, 2)
    assert best[0] == (1, 2) and len(best) == 2
    assert (3,) not in key_terms([[1, 2], [3], [4]], rarity, 3)


def test_words_that_occur_only_in_longer_terms_are_left_out() -> None:
    assert key_terms([[1, 2]], lambda word: 1.0, 5) == [(1, 2)]
    assert (1,) in key_terms([[1, 2], [1], [1]], lambda word: 1.0, 5), "it occurs alone, too"


def test_no_term_exceeds_the_maximum_length() -> None:
    assert max(map(len, key_terms([[1, 2, 3, 4]], lambda word: 4.0, 9, longest=2))) == 2
    assert key_terms([], lambda word: 1.0, 3) == []
    assert key_terms([[7]], lambda word: 2.0, 3) == [(7,)]
