"""Dense retrieval against float arithmetic, and that it honours what every stage must."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.library.encoding import encode
from citewell.models import encoder
from citewell.papers import Query
from citewell.pipeline import pipeline
from citewell.retrieve import scanning
from citewell.retrieve.dense import Dense
from citewell.retrieve.request import Request
from tests.library.test_vectors import Letters, add


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(encoder, "load", lambda name: Letters())
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"{'abcdefgh'[at % 8] * (1 + at)} boat", "year": 2000 + at} for at in range(30)])
    encode(library, Letters())
    return library


def test_the_nearest_come_first(library: Library) -> None:
    request = Request(library, Query(title="aaaa boat"))
    ranking = Dense("letters").rank(request)
    nums = library.index.listed("own")
    titles = [library.store.papers([num])[num].title for num in nums.tolist()]
    cosines = Letters().encode(titles) @ Letters().encode(["aaaa boat"])[0]
    exact = dict(zip(nums.tolist(), cosines.tolist(), strict=True))
    assert len(ranking.papers) == 30
    for num, score in zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True):
        assert score - 2 == pytest.approx(exact[num], abs=0.02)
    assert exact[int(ranking.papers[0])] == pytest.approx(max(exact.values()), abs=0.02)
    some = ranking.papers[[3, 7]]
    np.testing.assert_allclose(Dense("letters").score(request, some), ranking.scores[[3, 7]], rtol=1e-6)


def test_filters_and_removals_are_honoured(library: Library) -> None:
    found = Dense("letters").rank(Request(library, Query(title="aaaa", since=2010, exclude=["p15"])))
    years = {paper.year for paper in library.store.papers(found.papers.tolist()).values()}
    assert years == set(range(2010, 2030)) - {2015}
    library.remove(["p20"])
    gone = Dense("letters").rank(Request(library, Query(title="aaaa", since=2010)))
    assert len(gone.papers) == 19


def test_without_vectors_the_fix_is_named(library: Library) -> None:
    with pytest.raises(CitewellError, match="citewell library encode --encoder letters --text cited"):
        Dense("letters", text="cited").rank(Request(library, Query(title="x")))
    with pytest.raises(CitewellError, match="no form 'upside down'"):
        pipeline("dense", form="upside down")


def test_forms_are_the_parts_they_name(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Letters()
    monkeypatch.setattr(encoder, "load", lambda name: asked)
    query = Query("local", "Title", "Abstract", "as in TARGETCIT here")
    for form in ("text", "context", "abstract", "context, abstract", "abstract, context"):
        Dense("letters", form=form).rank(Request(library, query))
    assert asked.asked == [
        "as in   here. Title",
        "as in   here",
        "Title. Abstract",
        "Title. as in   here. Abstract",
        "Title. Abstract. as in   here",
    ]


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
