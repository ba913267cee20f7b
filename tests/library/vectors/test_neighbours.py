"""The neighbour index finds nearly what a scan finds; the scan covers what the index does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.collection.local import LocalCollection
from citewell.library import Library
from citewell.library.vectors import store as vectors
from citewell.library.vectors.encode import encode
from citewell.library.vectors.neighbours import Neighbours, refresh
from citewell.library.vectors.search import VectorSearch
from citewell.library.vectors.store import VectorStore, quantised
from citewell.models import encoder
from citewell.papers import Query
from citewell.ranking.request import Request
from citewell.retrieve.dense import Dense
from tests.library.records import RecordedProgress
from tests.library.vectors.test_vectors import add

DIMENSION = 48
LIMIT = 500


def clustered(count: int, seed: int) -> np.ndarray:
    """Vectors of length 1 that lie in clusters."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(40, DIMENSION))
    made = centres[random.integers(0, 40, count)] + 0.7 * random.normal(size=(count, DIMENSION))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def put(store: VectorStore, papers: Sequence[int] | np.ndarray, made: np.ndarray, edition: int = 1) -> None:
    store.add(np.asarray(papers, np.int64), np.full(len(papers), edition, np.int64), *quantised(made))


def rebuilt(store: VectorStore, live: np.ndarray, limit: int = LIMIT) -> bool:
    return refresh(store, live, limit)


def anything(papers: np.ndarray) -> np.ndarray:
    return np.ones(len(papers), bool)


def near(store: VectorStore, live: np.ndarray, use: bool = True) -> VectorSearch:
    parts = [(segment, current & np.isin(segment.papers, live)) for segment, current in store.segments()]
    return VectorSearch(parts, Neighbours.open(store) if use else None)


def nearest_papers(
    store: VectorStore, live: np.ndarray, query: np.ndarray, size: int, may: Callable[[np.ndarray], np.ndarray] = anything
) -> set[int]:
    return set(near(store, live).nearest(query, size, may)[0].tolist())


def scanned(
    store: VectorStore, live: np.ndarray, query: np.ndarray, size: int, may: Callable[[np.ndarray], np.ndarray] = anything
) -> set[int]:
    return set(near(store, live, use=False).nearest(query, size, may)[0].tolist())


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    store = VectorStore(tmp_path, "letters", "own")
    put(store, range(4000), clustered(4000, 1))
    assert rebuilt(store, np.arange(4000))
    return VectorStore(tmp_path, "letters", "own")


def test_the_index_finds_nearly_all_that_a_scan_finds(store: VectorStore) -> None:
    live = np.arange(4000)
    with_index, without = near(store, live), near(store, live, use=False)
    recalls = []
    for query in clustered(50, 2):
        papers, cosines = with_index.nearest(query, 100, anything)
        exact, _ = without.nearest(query, 100, anything)
        np.testing.assert_array_equal(cosines, without.cosines(query, papers))
        recalls.append(len(np.intersect1d(papers, exact)) / 100)
    assert np.mean(recalls) >= 0.95


def test_few_vectors_need_no_index(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, "letters", "own")
    put(store, range(LIMIT), clustered(LIMIT, 1))
    assert not rebuilt(store, np.arange(LIMIT))
    assert Neighbours.open(store) is None
    put(store, [LIMIT], clustered(1, 2))
    assert not rebuilt(store, np.arange(LIMIT)), "the one more is not of the library"
    assert rebuilt(store, np.arange(LIMIT + 1))


def test_new_papers_are_found_and_indexed_once_there_are_many(store: VectorStore) -> None:
    new = clustered(1200, 3)
    put(store, range(4000, 4300), new[:300])
    live = np.arange(4300)
    assert not rebuilt(store, live)
    assert all(4000 + at in nearest_papers(store, live, new[at], 5) for at in range(300))
    put(store, range(4300, 5200), new[300:])
    assert rebuilt(store, np.arange(5200))
    opened = Neighbours.open(store)
    assert opened is not None and len(opened) == 5200


def test_removed_papers_are_not_found(store: VectorStore) -> None:
    query = clustered(1, 4)[0]
    best = scanned(store, np.arange(4000), query, 50)
    live = np.array(sorted(set(range(4000)) - best))
    assert not rebuilt(store, live)
    assert not nearest_papers(store, live, query, 50) & best
    assert nearest_papers(store, np.zeros(0, np.int64), query, 50) == set()
    few = np.arange(0, 4000, 5)
    assert rebuilt(store, few), "most of what the index has is gone"


def test_a_changed_text_is_found_by_its_new_vector(store: VectorStore) -> None:
    live = np.arange(4000)
    before, after = clustered(4000, 1)[7], clustered(1, 5)[0]
    put(store, [7], after[None], edition=2)
    assert 7 in nearest_papers(store, live, after, 5)
    assert 7 not in nearest_papers(store, live, before, 5)


def test_strict_filters_use_the_scan(store: VectorStore) -> None:
    live = np.arange(4000)
    for query in clustered(5, 6):

        def few(papers: np.ndarray) -> np.ndarray:
            return np.asarray(papers % 97 == 3)

        assert nearest_papers(store, live, query, 30, few) == scanned(store, live, query, 30, few)
        assert len(nearest_papers(store, live, query, 30, few)) == 30
        assert nearest_papers(store, live, query, 100, few) == set(range(3, 4000, 97))


def damaged(path: Path, how: str) -> None:
    size = path.stat().st_size
    if how == "missing":
        path.unlink()
    elif how == "cut":
        os.truncate(path, size // 2)
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes(b"\xff" * size)


@pytest.mark.parametrize("how", ["missing", "cut", "empty", "overwritten"])
@pytest.mark.parametrize("ending", ["near", "covered"])
def test_damage_costs_only_time(store: VectorStore, how: str, ending: str) -> None:
    (file,) = store.folder.glob(f"*.{ending}")
    damaged(file, how)
    live, query = np.arange(4000), clustered(1, 7)[0]
    assert Neighbours.open(store) is None
    assert nearest_papers(store, live, query, 50) == scanned(store, live, query, 50)
    assert rebuilt(store, live)
    assert Neighbours.open(store) is not None


def test_a_copied_library_keeps_its_index(store: VectorStore) -> None:
    (file,) = store.folder.glob("*.near")
    os.utime(file, (1, 1))
    assert Neighbours.open(store) is not None


def test_a_build_that_was_killed_leaves_the_old_state(store: VectorStore, tmp_path: Path) -> None:
    named = store.neighbours
    put(store, range(4000, 6000), clustered(2000, 8))
    with patch.object(VectorStore, "keep_neighbours", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        rebuilt(store, np.arange(6000))
    (store.folder / "0123456789ab.near.part").write_bytes(b"begun")
    again = VectorStore(tmp_path, "letters", "own")
    assert again.neighbours == named and Neighbours.open(again) is not None
    assert 5999 in nearest_papers(again, np.arange(6000), clustered(2000, 8)[-1], 5)
    assert rebuilt(again, np.arange(6000))
    assert len(list(store.folder.glob("*.near*"))) == len(list(store.folder.glob("*.covered*"))) == 1


actions = st.lists(
    st.tuples(st.sampled_from(["put", "put", "remove"]), st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=8
)


@settings(max_examples=25, deadline=None)
@given(actions, st.integers(1, 3), st.integers(1, 40))
def test_the_nearest_are_found_after_any_history(history: list[tuple[str, int, int]], height: int, size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(vectors, "_HEIGHT", height):
        store = VectorStore(Path(folder), "letters", "own")
        live: set[int] = set()
        for edition, (action, first, count) in enumerate(history, 1):
            papers = range(first, first + count)
            if action == "put":
                put(store, papers, clustered(count, edition), edition)
                live |= set(papers)
            else:
                live -= set(papers)
            if not store.exists:
                continue
            present = np.array(sorted(live), np.int64)
            rebuilt(store, present, limit=10)
            query = clustered(1, 100)[0]
            assert nearest_papers(store, present, query, size) == scanned(store, present, query, size)


class Scattered:
    """Encodes a text as a vector that only that text has."""

    name = "letters"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.concatenate([clustered(1, crc32(text.encode())) for text in texts])


def test_a_large_library_gets_one_when_it_is_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "load", lambda name: Scattered())
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"boat {at}"} for at in range(600)])
    progress = RecordedProgress()
    encode(library, Scattered(), progress=progress, limit=LIMIT)
    steps = [call[1:] for call in progress.calls if call[0] == "start"]
    assert steps == [("encoding with letters", 600, "papers"), ("indexing vectors", 600, "papers")]
    assert sum(int(str(call[1])) for call in progress.calls if call[0] == "advance") == 1200
    built = VectorStore(library.folder, "letters", "own").neighbours
    assert built is not None
    add(library, [{"id": "late", "title": "a late boat"}, {"id": "p5", "title": "boat 5", "abstract": "changed"}])
    library.remove(["p9"])
    encode(library, Scattered(), limit=LIMIT)
    assert VectorStore(library.folder, "letters", "own").neighbours == built
    library.reload()

    def first(title: str) -> str:
        best = int(Dense("letters", size=5).retrieve(Request(LocalCollection(library), Query(title=title))).papers[0])
        return library.store.papers([best])[best].id

    assert first("boat 77") == "p77"
    assert first("a late boat") == "late"
    assert first("boat 5. changed") == "p5"
    assert first("boat 9") != "p9"
