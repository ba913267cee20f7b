"""Sentences of a set with and without citations, and the measures over them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.evaluate.claims import (
    average_precision,
    best_threshold,
    count_cues,
    label_sentences,
    labelled_paragraphs,
    precision_recall_f1,
    score_blocks,
    threshold_for,
)
from citewell.evaluate.sets import DataSet
from citewell.models.claims import load
from tests.evaluate.small_set import small_set

TEXT = "Earlier studies have counted boats from the air (reviewed in OTHERCIT ). We counted ours from the pier (Figure 1)."

answers = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=30).filter(
    lambda labelled: any(c for c, _ in labelled)
)


def slow_average_precision(cites: list[bool], scores: list[int]) -> float:
    """Recall gained at each score times the precision there."""
    total, before = 0.0, 0
    for limit in sorted(set(scores), reverse=True):
        taken = [cite for cite, score in zip(cites, scores, strict=True) if score >= limit]
        total += (sum(taken) - before) / sum(cites) * sum(taken) / len(taken)
        before = sum(taken)
    return total


@given(answers)
def test_measures_agree_with_the_obvious_ones(labelled: list[tuple[bool, int]]) -> None:
    cites, scores = np.array([cite for cite, _ in labelled]), np.array([score for _, score in labelled], float)
    assert average_precision(cites, scores) == pytest.approx(slow_average_precision(*map(list, zip(*labelled, strict=True))))
    best = max(precision_recall_f1(cites, scores, limit)["F1"] for limit in range(6))
    assert precision_recall_f1(cites, scores, best_threshold(cites, scores))["F1"] == pytest.approx(best)


def test_the_threshold_for_a_precision() -> None:
    cites, scores = np.array([True, True, False, True, False]), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    assert threshold_for(cites, scores, 0.75) == 2.0
    assert threshold_for(cites, scores, 1.0) == 4.0
    assert threshold_for(~cites, scores, 1.0) == 5.0


def test_first_sentences_and_other_years_do_not_count(tmp_path: Path) -> None:
    made = small_set()
    made.paragraphs = [
        {"id": "a", "citing": "p2019-1", "cited": ["p2016-1"], "topic_sentence": "Boats are counted all over the world.",
         "text": TEXT, "section": "Introduction"},
        {"id": "b", "citing": "p2020-1", "cited": ["p2016-1"], "topic_sentence": "Gulls are counted too.", "text": TEXT},
    ]  # fmt: skip
    dataset = DataSet.open(made.write(tmp_path / "set"))
    (labelled,) = labelled_paragraphs(dataset, [2019])
    assert labelled.judged.tolist() == [False, True, True]
    assert labelled.cites.tolist() == [False, True, False]
    assert (labelled.block.section, labelled.year) == ("Introduction", 2019)
    cites, scores = score_blocks(load(), [labelled])
    assert cites.tolist() == [True, False]
    assert scores[0] > scores[1]
    assert count_cues([labelled]).tolist() == [1.0, 0.0]


def test_a_passage_without_sentences() -> None:
    assert count_cues([label_sentences([], "")]).tolist() == []
