"""Citations of finished manuscripts are masked as a writer leaves gaps, and looked for in a library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import desk
from benchmarks.masking import mask_citations, read_manuscripts
from citewell.draft.manuscript import Manuscript
from citewell.library import Library

BIB = """
@article{tides, title = {Tides move the boats}, author = {Pike, Jon}, year = {2019}}
@article{gulls, title = {Gulls as a source of error}, author = {Reis, Ana}, year = {2017}}
@article{piers, title = {A theory of wooden piers}, author = {Holt, Mira}, year = {2001}}
@article{gulls2, title = {Gulls as a source of error}, author = {Reis, Ana}, year = {2017}}
"""
TEXT = r"""\documentclass{article}\title{Boats}\begin{document}\input{part}
Boats move with the tides %s and with ropes.
Errors come from gulls \citep{gulls}, from gulls \citep{gulls2} and from fog \cite{fog}.
\bibliography{refs}\end{document}"""


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    folder = tmp_path / "samples" / "manuscripts" / "harbour"
    folder.mkdir(parents=True)
    (folder / "refs.bib").write_text(BIB)
    (folder / "paper.tex").write_text(TEXT % r"\citep{tides, piers}")
    (folder / "part.tex").write_text("A part of the paper \\cite{fog2}.\n")
    (folder / "README.md").write_text("# Boats\n\nThe files of the paper.\n")
    return tmp_path / "samples"


@pytest.fixture
def library(samples: Path, tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.add([samples / "manuscripts" / "harbour" / "refs.bib"])
    return library


def test_a_file_that_cites_and_that_no_other_includes_is_a_manuscript(samples: Path, library: Library) -> None:
    manuscripts, problems = read_manuscripts(samples / "manuscripts", library)
    assert list(manuscripts) == ["harbour/paper.tex"] and problems == []


def test_what_is_cited_once_is_masked(samples: Path, library: Library) -> None:
    masking = mask_citations(Manuscript(samples / "manuscripts" / "harbour" / "paper.tex", library))
    assert [each.key for each in masking.masked] == ["tides", "piers"]
    assert (masking.repeated, masking.unknown) == (1, 2), "gulls under two keys; fog and fog2 in no file"


@pytest.mark.parametrize(("key", "gap"), [("tides", r"\citep{piers, ?}"), ("piers", r"\citep{tides, ?}")])
def test_the_query_is_that_of_a_gap_in_the_text(samples: Path, library: Library, key: str, gap: str) -> None:
    path = samples / "manuscripts" / "harbour" / "paper.tex"
    masked = {each.key: each for each in mask_citations(Manuscript(path, library)).masked}[key]
    path.write_text(TEXT % gap)
    (expected,) = Manuscript(path, library).queries("local")
    assert masked.query == expected.query
    assert masked.paper not in masked.query.known and len(masked.query.known) == 2


def test_a_citation_of_its_own_becomes_a_gap_of_its_own(samples: Path, library: Library) -> None:
    path = samples / "manuscripts" / "harbour" / "paper.tex"
    path.write_text(TEXT % r"\citep[see][p. 3]{tides}")
    (masked,) = mask_citations(Manuscript(path, library)).masked
    path.write_text(TEXT % "[?]")
    (expected,) = Manuscript(path, library).queries("local")
    assert masked.query == expected.query


def test_the_report(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(desk, "default_vectors", list)
    arguments = [str(samples), "--pipeline", "bm25", "--library", str(tmp_path / "kept")]
    desk.main([*arguments, "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["papers"] == 3
    (row, overall) = report["rows"]
    assert (row["manuscript"], row["masked"], row["unknown"], row["found_at_50"]) == ("harbour/paper.tex", 2, 2, 1)
    assert overall == {**row, "manuscript": "all"} and report["means"][0]["found_at_50"] == 0.5
    desk.main([*arguments, "--sample", "1"])
    assert "| all | bm25 | 1 | 2 |" in capsys.readouterr().out


def test_a_folder_without_bibliographies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no \.bib file"):
        desk.main([str(tmp_path)])
