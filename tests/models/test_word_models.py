"""Word ids, word overlap, and the networks over word vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.models import overlap
from citewell.models.joint_snippets import JointSnippets, pool, standardise
from citewell.models.semiser import Semiser, max_cosine
from citewell.models.word_vectors import MAX_WORDS, WordVectors, pad_rows
from tests.models import word_models

KNOWN = ["boats", "gulls", "harbour", "tides"]


def test_words_have_stable_ids(tmp_path: Path) -> None:
    vectors = word_models.word_vectors(KNOWN)
    boats, unknown, nothing = vectors.read(["Boats and the boat", "piers gulls piers", "of the"])
    assert boats[0] == boats[1] and 1 <= boats[0] <= 4 and not len(nothing)
    assert unknown[0] == unknown[2] > 4, "an unknown word keeps its own id"
    assert vectors.rows(unknown)[0] == 0 and not vectors.vectors[0].any() and vectors.idf[0] == 1.0
    assert vectors.idf[vectors.read(["boats"])[0][0]] > vectors.idf[vectors.read(["tides"])[0][0]]
    vectors.save(tmp_path)
    loaded = WordVectors.load(tmp_path)
    assert (loaded.vectors == vectors.vectors.astype(np.float16)).all(), "saved in half precision"
    assert (loaded.read(["gulls piers"])[0] == vectors.read(["gulls piers"])[0]).all()
    assert vectors.read([]) == []


def test_rows_are_padded_and_cut() -> None:
    assert pad_rows([np.array([1, 2]), np.array([3])]).tolist() == [[1, 2], [3, 0]]
    assert pad_rows([np.ones(500, np.int64)]).shape == (1, MAX_WORDS)
    assert pad_rows([]).shape == (0, 1)


def test_coverage_of_a_query_by_sentences_and_papers() -> None:
    query, idf = np.array([1, 2, 3]), np.array([0.5, 0.25, 0.25], np.float32)
    overlaps = overlap.overlap(query, idf, np.array([[1, 2, 0], [3, 9, 1], [8, 0, 0]]))
    coverage = overlaps.features[:, :3]
    assert coverage == pytest.approx(np.array([[2 / 3, 0.75, 0.5], [2 / 3, 0.75, 0.0], [0, 0, 0]]))
    assert overlaps.features[2, 3] == 0 < overlaps.features[1, 3]
    both = overlap.paper_features(overlaps, np.array([0, 2]), idf, np.array([1.5, -1.0], np.float32))
    assert both == pytest.approx(np.array([[1.5, 1, 1, 0.5], [-1, 0, 0, 0]]))


def test_pooling_ignores_padding() -> None:
    similar = np.array([[[0.5, -0.5, 0.9]], [[0.1, 0.2, 0.3]]], np.float32)
    present = np.array([[True, True, False], [False, False, False]])[:, None, :]
    highest, mean = pool(similar, present, 5)
    assert highest[:, 0] == pytest.approx([0.5, 0.0]) and mean[:, 0] == pytest.approx([0.0, 0.0])
    assert pool(similar, np.ones((2, 1, 3), bool), 2)[1][0, 0] == pytest.approx(0.7)


def test_bm25_is_standardised_over_the_candidates() -> None:
    assert standardise(np.array([3.0, 1.0], np.float32), np.array([1.0, 3.0], np.float32)).tolist() == [1.0, -1.0]
    assert standardise(np.array([3.0], np.float32), np.zeros(0, np.float32)).tolist() == [0.0]


def test_scores_do_not_depend_on_the_batch(tmp_path: Path) -> None:
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
    query = model.query("boats and gulls")
    assert not np.allclose(query, vectors[0]), "queries and sentences have separate attention"
    assert max_cosine(query, vectors)[0] == pytest.approx(max(float(one @ other) for one in query for other in vectors[0]))
