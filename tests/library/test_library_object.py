"""A library as a Python object: length, iteration, membership, repr."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.library import Library
from citewell.papers import Paper


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.take([Paper(id="a", title="A boat"), Paper(id="b", title="A harbour", ids=["doi:10.1/x"])])
    return library


def test_len_iteration_and_membership(library: Library) -> None:
    assert len(library) == 2
    assert [paper.title for paper in library] == ["A boat", "A harbour"]
    assert "a" in library and "10.1/x" in library
    assert "c" not in library and 1 not in library


def test_repr_shows_the_folder_and_the_number_of_papers(library: Library, tmp_path: Path) -> None:
    assert repr(library) == f"Library({str(tmp_path / 'library')!r}, 2 papers)"
    assert repr(Library(tmp_path / "none")) == f"Library({str(tmp_path / 'none')!r}, not readable)"
