"""The static encoder: a text is the mean of its tokens' vectors, at length 1."""

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
    scales, asked = draw.random((2, len(WORDS))).astype(np.float32)
    np.savez(tmp_path / FILE, codes=codes, scales=scales, asked=asked, near=np.array([2.0, 0.1]), words=0)
    return StaticEncoder("tiny", tmp_path, Inputs(contexts=2, window=3))


def mean(static: StaticEncoder, words: str, asked: bool = False) -> np.ndarray:
    with np.load(static._folder / FILE) as found:
        table = found["codes"] * (found["scales"] * (found["asked"] if asked else 1))[:, None]
    total = table[[WORDS.index(word) for word in words.split()]].sum(axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


def test_a_text_is_the_mean_of_its_tokens(static: StaticEncoder) -> None:
    found = static.encode(["boats gulls boats", "", "tides"])
    np.testing.assert_allclose(found[0], mean(static, "boats gulls boats"), rtol=1e-5)
    assert (found[1] == 0).all(), "of nothing there is nothing to say"
    np.testing.assert_allclose(found[2], mean(static, "tides"), rtol=1e-5)
    assert static.encode([]).shape == (0, 6)


def test_what_parts_the_parts_says_nothing(static: StaticEncoder) -> None:
    query = Query("global", title="harbour", abstract="tides")
    np.testing.assert_allclose(static.query(query), mean(static, "global : harbour tides", asked=True), rtol=1e-5)
    paper = PaperText("harbour", "tides", ["boats", "gulls gulls", "tides TARGETCIT"])
    np.testing.assert_allclose(static.papers([paper])[0], mean(static, "harbour gulls gulls tides [MASK] tides"), rtol=1e-5)


def test_tokens_near_the_gap_count_more(static: StaticEncoder) -> None:
    with np.load(static._folder / FILE) as found:
        table = found["codes"] * (found["scales"] * found["asked"])[:, None]
    words = ["[CLS]", "local", ":", "boats", "[MASK]", "gulls", "[SEP]", "harbour"]
    total = np.zeros(6)
    for at, word in enumerate(words):
        if word not in ("[CLS]", "[SEP]"):
            total += (0.1 + 0.9 * np.exp(-abs(at - 4) / 2)) * table[WORDS.index(word)]
    found = static.query(Query("local", context="boats TARGETCIT gulls", title="harbour"))
    np.testing.assert_allclose(found, total / np.linalg.norm(total), rtol=1e-5)


def test_words_of_several_tokens_have_a_row_of_their_own() -> None:
    continues = np.array([False, False, True, True])
    tokens = np.array([0, 2, 3, 1, 0, 2, 3, 1, 3, 2, 0, 2])
    rows, ends = whole_words(tokens, continues, 1000)
    assert np.flatnonzero(ends).tolist() == [2, 6, 9, 11]
    assert rows[2] == rows[6] >= len(continues), "the same word, the same row"
    assert len(set(rows[ends].tolist())) == 3


def test_papers_at_once_are_papers_one_by_one(static: StaticEncoder) -> None:
    papers = [PaperText("boats"), PaperText(), PaperText("", "gulls tides", ["harbour"])]
    together = static.papers(papers)
    assert together.shape == (3, 6)
    for paper, vector in zip(papers, together, strict=True):
        np.testing.assert_allclose(static.papers([paper])[0], vector, rtol=1e-5)
