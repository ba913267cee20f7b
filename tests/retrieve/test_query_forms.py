"""Which words of a query BM25 looks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Library
from citewell.collection.local import LocalCollection
from citewell.papers import Query
from citewell.ranking.query_terms import query_terms
from citewell.ranking.request import Request


@pytest.fixture
def library(tmp_path: Path, tiny_file: Path) -> Library:
    library = Library(tmp_path / "library")
    library.add([tiny_file])
    return library


def words(library: Library, query: Query, form: str, size: int = 0) -> list[str]:
    return [word for word, _ in query_terms(Request(LocalCollection(library), query), form, size).values()]


def test_key_terms_by_part_are_three_of_the_title_and_five_of_the_abstract(library: Library) -> None:
    query = Query(
        "global",
        title="Gulls, boats, tides, photographs and drones in the harbour",
        abstract="Photographs of boats in a harbour, of wings, of error, of drones, of film and of tide: gulls, unknowns.",
    )
    chosen = words(library, query, "key terms by part")
    of_title = words(library, Query("global", title=query.title), "key terms", 3)
    of_abstract = words(library, Query("global", title=query.abstract), "key terms", 5)
    assert (len(of_title), len(of_abstract)) == (3, 5)
    assert {*chosen} <= {*of_title, *of_abstract} and len(chosen) == len({*chosen})
    assert "unknowns" not in chosen


def test_key_terms_of_a_query_with_one_part(library: Library) -> None:
    assert words(library, Query("global", title="Gulls and boats"), "key terms by part") == ["gulls", "boats"]
    assert words(library, Query("global", abstract="Gulls and boats"), "key terms by part") == ["gulls", "boats"]
    assert words(library, Query("evidence", context="Gulls and boats"), "key terms by part") == ["gulls", "boats"]


def test_the_context_is_asked_without_the_title(library: Library) -> None:
    query = Query("local", "Boats and tides", context="Gulls at [?] the harbour".replace("[?]", "TARGETCIT"))
    assert set(words(library, query, "text")) > set(words(library, query, "context")) == {"gulls", "harbour"}
    assert words(library, Query("global", "Gulls and boats"), "context") == ["gulls", "boats"]
