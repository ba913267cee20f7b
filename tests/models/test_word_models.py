"""Words as numbers, how much of a question sentences hold, and the small networks over words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.models import overlap
from citewell.models.joint_snippets import JointSnippets, against_candidates, pooled
from citewell.models.semiser import Semiser, nearness
from citewell.models.word_vectors import LONGEST, WordVectors, side_by_side
from tests.models import word_models

KNOWN = ["boats", "gulls", "harbour", "tides"]


def test_words_are_numbered_by_what_they_are(tmp_path: Path) -> None:
    made = word_models.words(KNOWN)
    boats, unknown, nothing = made.read(["Boats and the boat", "piers gulls piers", "of the"])
    assert boats[0] == boats[1] and 1 <= boats[0] <= 4 and not len(nothing)
    assert unknown[0] == unknown[2] > 4, "one that is not known is told from others all the same"
    assert made.rows(unknown)[0] == 0 and not made.vectors[0].any() and made.rarity[0] == 1.0
    assert made.rarity[made.read(["boats"])[0][0]] > made.rarity[made.read(["tides"])[0][0]]
    made.save(tmp_path)
    again = WordVectors.load(tmp_path)
    assert (again.vectors == made.vectors).all() and (again.read(["gulls piers"])[0] == made.read(["gulls piers"])[0]).all()
    assert made.read([]) == []


def test_texts_side_by_side_are_filled_up_and_cut() -> None:
    assert side_by_side([np.array([1, 2]), np.array([3])]).tolist() == [[1, 2], [3, 0]]
    assert side_by_side([np.ones(500, np.int64)]).shape == (1, LONGEST)
    assert side_by_side([]).shape == (0, 1)


def test_the_shares_of_a_question_that_sentences_and_papers_hold() -> None:
    question, rarity = np.array([1, 2, 3]), np.array([0.5, 0.25, 0.25], np.float32)
    found = overlap.met(question, rarity, np.array([[1, 2, 0], [3, 9, 1], [8, 0, 0]]))
    shares = found.features[:, :3]
    assert shares == pytest.approx(np.array([[2 / 3, 0.75, 0.5], [2 / 3, 0.75, 0.0], [0, 0, 0]]))
    assert found.features[2, 3] == 0 < found.features[1, 3]
    both = overlap.of_papers(found, np.array([0, 2]), rarity, np.array([1.5, -1.0], np.float32))
    assert both == pytest.approx(np.array([[1.5, 1, 1, 0.5], [-1, 0, 0, 0]]))


def test_pooling_counts_only_where_words_stand() -> None:
    similar = np.array([[[0.5, -0.5, 0.9]], [[0.1, 0.2, 0.3]]], np.float32)
    there = np.array([[True, True, False], [False, False, False]])[:, None, :]
    highest, mean = pooled(similar, there, 5)
    assert highest[:, 0] == pytest.approx([0.5, 0.0]) and mean[:, 0] == pytest.approx([0.0, 0.0])
    assert pooled(similar, np.ones((2, 1, 3), bool), 2)[1][0, 0] == pytest.approx(0.7)


def test_bm25_is_held_against_the_candidates() -> None:
    assert against_candidates(np.array([3.0, 1.0], np.float32), np.array([1.0, 3.0], np.float32)).tolist() == [1.0, -1.0]
    assert against_candidates(np.array([3.0], np.float32), np.zeros(0, np.float32)).tolist() == [0.0]


def test_scores_do_not_depend_on_what_else_is_read(tmp_path: Path) -> None:
    model = JointSnippets.read(word_models.joint_snippets(tmp_path / "model", KNOWN))
    papers = [["Boats", "gulls and tides in the harbour", ""], ["A pier", "tides"], ["", "boats " * 200]]
    bm25 = np.array([1.0, 0.0, -1.0], np.float32)
    together, sentences = model.scores("boats in harbour tides", papers, bm25)
    assert [len(part) for part in sentences] == [3, 2, 2] and np.isfinite(together).all()
    for at, paper in enumerate(papers):
        alone, of_it = model.scores("boats in harbour tides", [paper], bm25[at : at + 1])
        assert alone == pytest.approx(together[at : at + 1], abs=1e-5) and of_it[0] == pytest.approx(sentences[at], abs=1e-5)
    nothing, none = model.scores("of the", papers, bm25)
    assert np.isfinite(nothing).all() and len(none) == 3
    assert model.scores("boats", [], bm25[:0])[1] == []


def test_a_text_has_two_vectors_of_length_1(tmp_path: Path) -> None:
    model = Semiser.read(word_models.semiser(tmp_path / "model", KNOWN))
    vectors = model.sentences(["boats and gulls", "tides of the harbour with boats", "of the"])
    assert vectors.shape == (3, 2, 5)
    assert np.linalg.norm(vectors[:2], axis=2) == pytest.approx(np.ones((2, 2))) and not vectors[2].any()
    assert model.sentences(["tides of the harbour with boats"])[0] == pytest.approx(vectors[1], abs=1e-6)
    asked = model.question("boats and gulls")
    assert not np.allclose(asked, vectors[0]), "questions and sentences have attention of their own"
    assert nearness(asked, vectors)[0] == pytest.approx(max(float(one @ other) for one in asked for other in vectors[0]))
