"""Vectors: after any history every live paper has the vector of its current text, and none is computed twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.library.vectors import encode as encoding
from citewell.library.vectors import store as vectors
from citewell.library.vectors.encode import encode, missing
from citewell.library.vectors.store import VectorStore, quantised, vector_stores

WORDS = ["anchor", "buoy", "canal", "dock"]


class Letters:
    """Encodes a text by how often it has each of a few letters; records the texts it encoded."""

    name = "letters"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        counts = np.array([[1 + text.count(letter) for letter in "abcdefgh"] for text in texts], np.float32)
        return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), np.float32)


def test_vectors_of_other_weights_are_never_mixed_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "models"))
    folder = tmp_path / "models" / "letters"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"first" * 50_000)
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"{'abc'[at % 3] * (1 + at)} boat"} for at in range(5)])
    assert encode(library, Letters()) == 5 and encode(library, Letters()) == 0
    assert VectorStore(library.folder, "letters", "own").count() == 5 and vector_stores(library.folder) == [("letters", "own")]
    middle = bytearray(b"first" * 50_000)
    middle[100_000:200_000] = bytes(100_000)
    (folder / "model.onnx").write_bytes(middle)
    assert not VectorStore(library.folder, "letters", "own").exists and vector_stores(library.folder) == []
    assert missing(library, "letters") == 5
    assert encode(library, Letters()) == 5
    assert len([path for path in (library.folder / "vectors").iterdir() if path.is_dir()]) == 1, "the old ones are gone"


def add(library: Library, records: list[dict[str, Any]]) -> None:
    source = library.folder.parent / "source.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    library.add([source])


def stored_vectors(library: Library, text: str = "own") -> dict[int, np.ndarray]:
    """The vectors of the live papers as retrieval would see them."""
    listed = set(library.index.listed("own").tolist())
    vectors_of: dict[int, np.ndarray] = {}
    for segment, live in VectorStore(library.folder, "letters", text).segments():
        for at in np.flatnonzero(live).tolist():
            if int(segment.papers[at]) in listed:
                assert int(segment.papers[at]) not in vectors_of, "two segments have a live vector of one paper"
                vectors_of[int(segment.papers[at])] = segment.codes[at] * segment.scales[at]
    return vectors_of


def agree(library: Library) -> None:
    library.reload()
    papers = library.store.papers(library.index.listed("own").tolist())
    texts = {num: f"{paper.title}. {paper.abstract}" if paper.abstract else paper.title for num, paper in papers.items()}
    expected = dict(zip(texts, Letters().encode(list(texts.values())), strict=True)) if texts else {}
    vectors_of = stored_vectors(library)
    assert set(vectors_of) == set(expected)
    for num, vector in expected.items():
        np.testing.assert_allclose(vectors_of[num], vector, atol=0.01)


papers = st.fixed_dictionaries(
    {"id": st.sampled_from(["p1", "p2", "p3", "p4", "p5"]), "title": st.sampled_from(WORDS), "abstract": st.sampled_from(WORDS)}
)
histories = st.lists(
    st.lists(papers, min_size=1, max_size=3).map(lambda lines: ("add", lines))
    | st.sampled_from(["p1", "p2", "p3"]).map(lambda name: ("remove", name)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories, st.integers(1, 4), st.sampled_from([1, 2, 2048]))
def test_vectors_follow_the_texts(history: list[tuple[str, Any]], height: int, chunk: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(vectors, "_HEIGHT", height),
        patch.object(encoding, "CHUNK", chunk),
    ):
        library = Library(Path(folder) / "library")
        for action, what in history:
            if action == "add":
                add(library, what)
            elif library.folder.exists() and library.store.find(what):
                library.remove([what])
            if library.folder.exists():
                encode(library, Letters())
                agree(library)
                assert missing(library, "letters") == 0
                again = Letters()
                assert encode(library, again) == 0 and again.encoded == []
        library.close()


def test_only_what_is_new_or_changed_is_encoded(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"boat {at}"} for at in range(20)])
    first = Letters()
    assert encode(library, first) == 20
    add(library, [{"id": "p3", "title": "boat 3", "abstract": "now with an abstract"}, {"id": "p20", "title": "boat 20"}])
    assert missing(library, "letters") >= 1
    second = Letters()
    assert encode(library, second) == 2
    assert sorted(second.encoded) == ["boat 20", "boat 3. now with an abstract"]
    library.rebuild()
    third = Letters()
    assert encode(library, third) == 0


def test_vectors_are_copied_from_a_donor(tmp_path: Path) -> None:
    one, other = Library(tmp_path / "one"), Library(tmp_path / "other")
    add(one, [{"id": f"p{at}", "title": f"boat {at}"} for at in range(10)])
    encode(one, Letters())
    add(other, [{"id": f"q{at}", "title": f"boat {at}"} for at in range(5, 15)])
    borrower = Letters()
    assert encode(other, borrower, donors=[one.folder]) == 5
    assert len(borrower.encoded) == 5
    agree(other)


def test_a_paper_has_a_vector_for_each_of_its_sentences(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": "boats", "abstract": f"An anchor {at}. A buoy. A canal bends."} for at in range(4)])
    add(library, [{"id": "none", "title": "no abstract"}, {"id": "two", "title": "b", "sentences": ["A dock.", "A cab."]}])
    library.reload()
    assert encode(library, Letters(), "sentences") == 5 and encode(library, Letters(), "sentences") == 0
    for at in range(10):  # enough to merge segments
        add(library, [{"id": f"new{at}", "title": "boats", "abstract": f"A deed {at}. A face."}])
        library.reload()
        assert encode(library, Letters(), "sentences") == 1
    store = VectorStore(library.folder, "letters", "sentences")
    assert store.count() == 15
    vectors_of: dict[int, list[np.ndarray]] = {}
    for segment, live in store.segments():
        for at in np.flatnonzero(live).tolist():
            vectors_of.setdefault(int(segment.papers[at]), []).append(segment.codes[at] * segment.scales[at])
    for num, sentences in library.store.quotable(library.index.listed("own").tolist()).items():
        assert len(vectors_of.get(num, [])) == len(sentences)
        if sentences:
            expected = Letters().encode([sentence.text for sentence in sentences])
            np.testing.assert_allclose(np.array(vectors_of[num]), expected, atol=0.01)
    other = Library(tmp_path / "other")
    add(other, [{"id": "p1", "title": "boats", "abstract": "An anchor 1. A buoy. A canal bends."}])
    other.reload()
    assert encode(other, Letters(), "sentences", donors=[library.folder]) == 0, "they are copied from a donor"


def test_contexts_give_the_mean_of_their_vectors(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    contexts = [{"id": f"c{at}", "citing": "b", "cited": ["a"], "text": f"{word} TARGETCIT"} for at, word in enumerate(WORDS)]
    add(library, [{"id": "a", "title": "x"}, {"id": "b", "title": "y", "references": ["a"]}, *contexts])
    encode(library, Letters(), "cited")
    mean = Letters().encode(list(WORDS)).sum(axis=0)
    (vector,) = stored_vectors(library, "cited").values()
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=0.01)
    with pytest.raises(CitewellError, match="no text 'shoes'"):
        encode(library, Letters(), "shoes")


@given(st.lists(st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3), min_size=1, max_size=6))
def test_int8_is_near_enough(rows: list[list[float]]) -> None:
    given_vectors = np.array(rows, np.float32)
    codes, scales = quantised(given_vectors)
    largest = np.abs(given_vectors).max(axis=1)
    errors = codes * scales[:, None] - given_vectors
    assert (np.linalg.norm(errors, axis=1) <= np.sqrt(3) * largest / 250 + 1e-6).all()
    np.testing.assert_allclose((errors * given_vectors).sum(axis=1), -(errors**2).sum(axis=1), atol=1e-5)


def test_a_manifest_of_before_neighbours_is_read(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    add(library, [{"id": "a", "title": "boat"}])
    encode(library, Letters())
    manifest = library.folder / "vectors" / "letters-own" / "manifest.json"
    written = json.loads(manifest.read_text())
    del written["neighbours"]
    manifest.write_text(json.dumps(written))
    assert VectorStore(library.folder, "letters", "own").neighbours is None
    agree(library)


SLOW = """
import sys, time
from pathlib import Path
from citewell.library import Library
from citewell.library.vectors import encode as encoding
sys.path.insert(0, {tests!r})
from tests.library.vectors.test_vectors import Letters

class Slow(Letters):
    def encode(self, texts):
        time.sleep(0.05)
        return super().encode(texts)

encoding.CHUNK = 10
encoder = Slow()
encoding.encode(Library(Path({library!r})), encoder)
print(len(encoder.encoded))
"""


def test_killed_encoding_resumes_where_it_stopped(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"boat {at}"} for at in range(200)])
    script = SLOW.format(tests=str(Path(__file__).parents[3]), library=str(library.folder))
    started = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until and VectorStore(library.folder, "letters", "own").count() < 50:
        time.sleep(0.02)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    done = VectorStore(library.folder, "letters", "own").count()
    assert 50 <= done < 200
    rest = Letters()
    assert encode(library, rest) == 200 - done == len(rest.encoded)
    agree(library)
