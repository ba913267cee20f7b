"""Dense retrieval, compared with float arithmetic; filters, forms and reasons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.library.vectors import search as scanning
from citewell.library.vectors.encode import encode
from citewell.library.vectors.search import VectorSearch
from citewell.library.vectors.store import Vectors, VectorStore, quantised
from citewell.models import encoder
from citewell.papers import Query, Reason
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from citewell.retrieve.dense import FORMS, Dense
from tests.library.vectors.test_vectors import Letters, add


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(encoder, "load", lambda name: Letters())
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"{'abcdefgh'[at % 8] * (1 + at)} boat", "year": 2000 + at} for at in range(30)])
    encode(library, Letters())
    return library


def test_the_nearest_come_first(library: Library) -> None:
    request = Request(LocalCollection(library), Query(title="aaaa boat"))
    ranking = Dense("letters").retrieve(request)
    nums = library.index.listed("own")
    titles = [library.store.papers([num])[num].title for num in nums.tolist()]
    cosines = Letters().encode(titles) @ Letters().encode(["aaaa boat"])[0]
    exact = dict(zip(nums.tolist(), cosines.tolist(), strict=True))
    assert len(ranking.papers) == 30
    for num, score in zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True):
        assert score == pytest.approx(exact[num], abs=0.02)
    assert exact[int(ranking.papers[0])] == pytest.approx(max(exact.values()), abs=0.02)
    some = ranking.papers[[3, 7]]
    assert Dense("letters").score(request, some).tolist() == ranking.scores[[3, 7]].tolist()
    absent, there = Dense("letters").score(request, np.array([10**6, int(some[0])])).tolist()
    assert np.isnan(absent) and there == ranking.scores[3]


def test_filters_and_removals_are_honoured(library: Library) -> None:
    ranking = Dense("letters").retrieve(Request(LocalCollection(library), Query(title="aaaa", since=2010, exclude=["p15"])))
    years = {paper.year for paper in library.store.papers(ranking.papers.tolist()).values()}
    assert years == set(range(2010, 2030)) - {2015}
    library.remove(["p20"])
    gone = Dense("letters").retrieve(Request(LocalCollection(library), Query(title="aaaa", since=2010)))
    assert len(gone.papers) == 19


def test_without_vectors_the_fix_is_named(library: Library) -> None:
    with pytest.raises(CitewellError, match="citewell library encode --encoder letters --text cited"):
        Dense("letters", text="cited").retrieve(Request(LocalCollection(library), Query(title="x")))
    with pytest.raises(CitewellError, match="no form 'upside down'"):
        pipeline("dense", form="upside down")


def test_an_optional_stage_returns_nothing_until_there_are_vectors(library: Library) -> None:
    request = Request(LocalCollection(library), Query(title="aaaa boat"))
    absent = Dense("numbers", optional=True)
    nothing = absent.retrieve(request)
    assert not len(nothing.papers) and absent.explain(request, nothing, [1]) == {}
    assert np.isnan(absent.score(request, np.array([1, 2]))).all()
    assert Pipeline.of(absent).notes(library)
    there = Dense("letters", optional=True)
    assert len(there.retrieve(request).papers) == 30


def test_forms_are_the_parts_they_name(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = Letters()
    monkeypatch.setattr(encoder, "load", lambda name: letters)
    query = Query("local", "Title", "Abstract", "as in TARGETCIT here")
    for form in FORMS:
        Dense("letters", form=form).retrieve(Request(LocalCollection(library), query))
    assert letters.encoded == [
        "as in   here. Title",
        "as in   here",
        "Title. as in   here",
        "Title. Abstract",
        "Title. as in   here. Abstract",
        "Title. Abstract. as in   here",
    ]


def nothing_but(rest: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda papers: np.asarray(papers % 3 == rest)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 3), st.lists(st.integers(1, 200), max_size=4), st.integers(1, 30), st.integers(0, 2), st.booleans())
def test_the_nearest_are_those_of_an_exact_scan(seed: int, counts: list[int], size: int, rest: int, gaps: bool) -> None:
    """Over the stored vectors, among live papers that pass the filter."""
    random = np.random.default_rng(seed)
    parts, exact = [], {}
    query = random.normal(size=64).astype(np.float32)
    query /= np.linalg.norm(query)
    for number, count in enumerate(counts):
        made = random.normal(size=(count, 64)).astype(np.float32)
        codes, scales = quantised(made / np.linalg.norm(made, axis=1, keepdims=True))
        papers = np.arange(count, dtype=np.int32) * 5 + number
        live = random.random(count) < 0.4 if gaps else np.ones(count, bool)
        parts.append((Vectors(papers, np.ones(count, np.int64), codes, scales), live))
        cosines = (codes.astype(np.float64) * scales[:, None]) @ query
        exact |= {int(num): float(cosines[at]) for at, num in enumerate(papers) if live[at]}
    near = VectorSearch(parts)
    nearest, scores = near.nearest(query, size, nothing_but(rest))
    best = sorted((num for num in exact if num % 3 == rest), key=lambda num: -exact[num])[:size]
    assert nearest.tolist() == best
    np.testing.assert_allclose(scores, [exact[num] for num in nearest.tolist()], atol=1e-6)
    np.testing.assert_array_equal(near.cosines(query, nearest[::-1]), scores[::-1])


@given(st.integers(0, 5000), st.integers(0, 6000), st.integers(0, 3), st.booleans())
def test_the_highest_are_the_highest(rows: int, count: int, seed: int, ordered: bool) -> None:
    scores = np.random.default_rng(seed).normal(size=rows).astype(np.float32)
    scores = np.sort(scores) if ordered else scores
    highest = scanning._highest(scores, count)
    assert len(set(highest.tolist())) == min(rows, count)
    np.testing.assert_array_equal(np.sort(scores[highest]), np.sort(scores)[max(0, rows - count) :])


def add_contexts(library: Library, papers: int) -> None:
    contexts = [
        ("c1", "a bad bead, as TARGETCIT says of beads and OTHERCIT of cages, was had"),
        ("c2", "he fed the hen TARGETCIT ."),
        ("c3", f"{'egg ' * 100}gage TARGETCIT , {'fig ' * 100}"),
    ]
    add(
        library,
        [
            *({"id": f"p{at}", "title": f"boat {at}"} for at in range(papers)),
            {"id": "citing", "title": "boats", "references": ["p0"]},
            *({"id": name, "citing": "citing", "cited": ["p0"], "text": text} for name, text in contexts),
        ],
    )


def test_the_reason_quotes_the_nearest_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "load", lambda name: Letters())
    library = Library(tmp_path / "library")
    add_contexts(library, 2)
    for text in ("own", "cited", "citing"):
        encode(library, Letters(), text)
    library.reload()
    num = library.number("p0")

    def reason(query: str, paper: int, text: str = "cited") -> Reason:
        stage, request = Dense("letters", text=text), Request(LocalCollection(library), Query(title=query))
        reason = stage.explain(request, stage.retrieve(request), [paper])[paper][0]
        assert reason.kind == "similarity"
        return reason

    assert reason("abadbead", num).text.startswith(
        "Cited elsewhere as: “a bad bead, as [it] says of beads and […] of cages, was had”"
    )
    assert reason("hefedhehen", num).text.startswith("Cited elsewhere as: “he fed the hen [it].”")
    assert reason("hefedhehen", num).data == ["he fed the hen TARGETCIT ."]
    quote = reason("gggggggggg", num).text
    assert "“… egg" in quote and "gage [it], fig" in quote and len(quote) < 260
    citing = reason("hefedhehen", library.number("citing"), "citing").text
    assert citing.startswith("It says of others: “he fed the hen […].”")
    assert reason("boat", num, "own").text == "Its title is close to your text.", "the paper has no abstract"
    stage, request = Dense("letters", text="cited"), Request(LocalCollection(library), Query(title="x"))
    assert stage.explain(request, stage.retrieve(request), [library.number("p1")]) == {}


def test_notes_count_papers_without_vectors(library: Library) -> None:
    def notes(stage: Dense) -> list[str]:
        return Pipeline.of(stage).notes(library)

    assert notes(Dense("letters")) == []
    add(library, [{"id": "new", "title": "new boat"}])
    note = (
        "has no letters vectors (title and abstract), so dense retrieval cannot find it."
        " Run 'citewell library encode --encoder letters'."
    )
    assert notes(Dense("letters")) == [f"1 paper {note}"]
    add(library, [{"id": "newer", "title": "newer boat"}])
    assert notes(Dense("letters"))[0].startswith(
        "2 papers have no letters vectors (title and abstract), so dense retrieval cannot find them."
    )
    (note,) = notes(Dense())
    assert note.startswith("32 papers have no minilm vectors") and note.endswith("'citewell library encode --encoder minilm'.")
    assert not VectorStore(library.folder, "minilm", "own").exists
    encode(library, Letters())
    assert notes(Dense("letters")) == []


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 400), st.integers(0, 10))
def test_numpy_and_compiled_scan_agree(rows: int, dimension: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(-127, 128, (rows, dimension), dtype=np.int8)
    query = random.integers(-127, 128, dimension, dtype=np.int8)
    scanning.load_compiled()
    expected = codes.astype(np.int64) @ query.astype(np.int64)
    assert scanning.products_in_numpy(codes, query).tolist() == expected.tolist()
    assert scanning._run(codes, query).tolist() == expected.tolist()
