"""Further texts of word vectors: numbers of words, and vectors of words that the training data lack."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from citewell.progress import SILENT
from citewell.text.analysis import term_hash
from citewell.train.recipe import EvidenceRecipe, load_recipe
from citewell.train.save import EpochCheckpoints
from citewell.train.word_texts import NumberedWords, numbered_texts
from tests.evaluate.small_set import small_set


@pytest.fixture
def other_set(tmp_path: Path) -> Path:
    folder = small_set().write(tmp_path / "other")
    first = {"id": "zebra", "title": "Zebras and zebras sleep", "abstract": "", "authors": [], "year": 2001, "references": []}
    with (folder / "papers.jsonl").open("a") as stream:
        stream.write(json.dumps(first) + "\n")
    return folder


def test_known_words_keep_their_numbers(other_set: Path) -> None:
    words = NumberedWords(np.array([0, term_hash(b"sleep")]))
    rows = numbered_texts([other_set], words)
    zebra = words.number(term_hash(b"zebra"))
    assert [zebra, zebra, 1] in [row.tolist() for row in rows]
    assert words.hashes()[[1, zebra]].tolist() == [term_hash(b"sleep"), term_hash(b"zebra")]


def test_word_vectors_learn_words_of_further_sets(other_set: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    from citewell.train.skip_gram import train_word_vectors
    from tests.train.test_term_graph import of_papers

    recipe = tmp_path / "tiny.toml"
    recipe.write_text('like = "jpdrmm"\nwords = { size = 4, min_count = 2, epochs = 1 }\n')
    loaded = load_recipe(str(recipe))
    assert isinstance(loaded, EvidenceRecipe)
    data = of_papers([[1, 2, 1]], [[2, 3]])
    checkpoints = EpochCheckpoints(tmp_path / "checkpoints", "x")
    words = train_word_vectors(data, loaded.words, None, checkpoints, SILENT, None, [other_set])
    assert {1, 2, term_hash(b"zebra")} <= set(words.hashes.tolist()) and 3 not in words.hashes
    zebra = words.rows(words.numbers(np.array([term_hash(b"zebra")])))
    assert words.vectors[zebra].any() and words.idf[zebra] == pytest.approx(1.0), "no paper of the training data has it"
