"""The static encoder: a text is the weighted sum of its token vectors, at length 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.models.inputs import Inputs, PaperText
from citewell.models.static import FILE, StaticEncoder, whole_words
from citewell.papers import Query

tokenizers = pytest.importorskip("tokenizers")

WORDS = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "boats", "gulls", "harbour", "tides", "local", "global", ":"]


@pytest.fixture
def static(tmp_path: Path) -> StaticEncoder:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, "[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(WORDS[:4])
    made.save(str(tmp_path / "tokenizer.json"))
    draw = np.random.default_rng(1)
    codes = draw.integers(-127, 128, (len(WORDS), 6)).astype(np.int8)
    scales, as_query = draw.random((2, len(WORDS))).astype(np.float32)
    near, kinds = np.array([[2.0, 0.1], [3.0, 0.2]]), np.array([[1.0, 0.5, 0.25], [2.0, 1.0, 0.5]], np.float32)
    np.savez(tmp_path / FILE, codes=codes, scales=scales, asked=as_query, near=near, kinds=kinds, words=0)
    return StaticEncoder("tiny", tmp_path, Inputs(contexts=2, window=3))


def expected_vector(
    static: StaticEncoder, *parts: tuple[str, float], as_query: bool = False, near: tuple[float, float] = (1, 1)
) -> np.ndarray:
    """The vector of parts with their weights; in a part with a gap, tokens weigh by their distance from it."""
    with np.load(static._folder / FILE) as vectors:
        table = vectors["codes"] * (vectors["scales"] * (vectors["asked"] if as_query else 1))[:, None]
    total = np.zeros(table.shape[1])
    for text, weight in parts:
        words = text.split()
        gap = words.index("[MASK]") if "[MASK]" in words else None
        reach, far = near
        weights = [1 if gap is None else far + (1 - far) * np.exp(-abs(at - gap) / reach) for at in range(len(words))]
        rows = table[[WORDS.index(word) for word in words]]
        total += weight * (np.array(weights)[:, None] * rows).sum(axis=0) / np.sqrt(sum(weights))
    return np.asarray(total / np.linalg.norm(total), np.float32)


def test_a_text_is_the_sum_of_its_tokens(static: StaticEncoder) -> None:
    vectors = static.encode(["boats gulls boats", "", "tides"])
    np.testing.assert_allclose(vectors[0], expected_vector(static, ("boats gulls boats", 1)), rtol=1e-5)
    assert (vectors[1] == 0).all(), "an empty text has a zero vector"
    np.testing.assert_allclose(vectors[2], expected_vector(static, ("tides", 1)), rtol=1e-5)
    assert static.encode([]).shape == (0, 6)


def test_each_kind_of_part_has_its_own_weight(static: StaticEncoder) -> None:
    query = Query("global", title="harbour boats", abstract="tides")
    expected = expected_vector(static, ("global :", 1.0), ("harbour boats", 0.5), ("tides", 0.25), as_query=True)
    np.testing.assert_allclose(static.query(query), expected, rtol=1e-5)
    paper = PaperText("harbour", "tides boats")
    np.testing.assert_allclose(
        static.papers([paper])[0], expected_vector(static, ("harbour", 2.0), ("tides boats", 0.5)), rtol=1e-5
    )


def test_tokens_near_the_gap_weigh_more(static: StaticEncoder) -> None:
    vectors = static.query(Query("local", context="boats TARGETCIT gulls", title="harbour"))
    expected = expected_vector(static, ("local : boats [MASK] gulls", 1.0), ("harbour", 0.5), as_query=True, near=(2.0, 0.1))
    np.testing.assert_allclose(vectors, expected, rtol=1e-5)
    paper = static.papers([PaperText("harbour", "", ["boats TARGETCIT gulls"])])[0]
    np.testing.assert_allclose(
        paper, expected_vector(static, ("harbour", 2.0), ("boats [MASK] gulls", 1.0), near=(3.0, 0.2)), rtol=1e-5
    )


def test_contexts_form_one_part_and_only_the_newest_are_read(static: StaticEncoder) -> None:
    contexts = ["tides tides", "boats TARGETCIT", "gulls TARGETCIT"]
    with np.load(static._folder / FILE) as vectors:
        table = vectors["codes"] * vectors["scales"][:, None]
    neighbour = 0.2 + 0.8 * np.exp(-1 / 3)
    boats, gulls, gap = (table[WORDS.index(word)] for word in ("boats", "gulls", "[MASK]"))
    total = (neighbour * boats + neighbour * gulls + 2 * gap) / np.sqrt(2 + 2 * neighbour)
    np.testing.assert_allclose(static.papers([PaperText("", "", contexts)])[0], total / np.linalg.norm(total), rtol=1e-5)


def test_words_of_several_tokens_have_their_own_row() -> None:
    continues = np.array([False, False, True, True])
    tokens = np.array([0, 2, 3, 1, 0, 2, 3, 1, 3, 2, 0, 2])
    rows, ends = whole_words(tokens, continues, 1000)
    assert np.flatnonzero(ends).tolist() == [2, 6, 9, 11]
    assert rows[2] == rows[6] >= len(continues), "the same word, the same row"
    assert len(set(rows[ends].tolist())) == 3


def test_a_batch_of_papers_equals_single_papers(static: StaticEncoder) -> None:
    papers = [PaperText("boats"), PaperText(), PaperText("", "gulls tides", ["harbour"])]
    together = static.papers(papers)
    assert together.shape == (3, 6)
    for paper, vector in zip(papers, together, strict=True):
        np.testing.assert_allclose(static.papers([paper])[0], vector, rtol=1e-5)
