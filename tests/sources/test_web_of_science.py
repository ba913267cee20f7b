"""Both exports of Web of Science."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Reference
from citewell.sources import web_of_science


def test_plain_text() -> None:
    records = taken(web_of_science, DATA / "wos.txt")
    article, proceedings = papers(records)
    assert article.title == "Counting boats in the harbour"
    assert article.abstract == "We count boats. DNA is not a tag here."
    assert [*map(str, article.authors)] == ["Ada Berg", "Bo Lund", "Harbour Grp"]
    assert (article.year, article.date, article.venue) == (2015, "2015-05-17", "HARBOUR STUDIES")
    assert article.ids == ["doi:10.9999/boats.2015.1", "pmid:30000001", "wos:000300000100001"]
    assert article.keywords == ["boats", "harbours", "TIDES", "GULLS"]
    assert (article.extra["pages"], article.extra["shortjournal"], article.extra["type"]) == ("1-9", "Harb. Stud.", "Article")
    assert (proceedings.title, proceedings.extra["event"]) == ("Tides move the boats", "Conference on Tides")
    assert [(each.line, each.reason) for each in problems(records)] == [(52, "a record with neither a title nor an identifier")]


def test_cited_works_with_a_doi_become_references() -> None:
    article = papers(taken(web_of_science, DATA / "wos.txt"))[0]
    assert article.references == [
        Reference(["doi:10.9999/old.1"], year=2001),
        Reference(["doi:10.9999/old.2"], year=2010, authors=["A Berg"]),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tab_delimited(encoding: str, tmp_path: Path) -> None:
    written = (DATA / "wos_table.txt").read_bytes().decode().encode(encoding)
    assert web_of_science.matches(written)
    article, second = papers(taken(web_of_science, written, tmp_path))
    assert (article.title, [*map(str, article.authors)]) == ('Counting "boats', ["Ada Berg", "Bo Lund"])
    assert article.ids == ["doi:10.9999/boats.2015.1", "wos:000300000100001"]
    assert article.references == [Reference(["doi:10.9999/old.2"], year=2010, authors=["A Berg"])]
    assert (second.title, [*map(str, second.authors)], second.year) == ("Tides move the boats", ["A Berg"], 2019)


def test_a_record_without_an_end_does_not_absorb_the_next(tmp_path: Path) -> None:
    written = b"FN X\nVR 1.0\nPT J\nTI A\nPY 2001\nPT J\nTI B\nER\nEF\n"
    assert [each.title for each in papers(taken(web_of_science, written, tmp_path))] == ["A", "B"]


def test_a_million_continuation_lines_take_linear_time(tmp_path: Path) -> None:
    written = b"PT J\nTI A\nAB x\n" + b"   y\n" * 1_000_000 + b"ER\n"
    (paper,) = papers(taken(web_of_science, written, tmp_path))
    assert len(paper.abstract) == 2_000_001


def test_a_record_of_another_database(tmp_path: Path) -> None:
    """MEDLINE and Inspec are exported from the same site, with their own numbers."""
    written = (
        b"FN X\nVR 1.0\nPT J\nTI A\nAU Berg, Ada; Lund, Bo C\nPS 24-57\nUT MEDLINE:1\nER\n\nPT J\nTI B\nUT INSPEC:1\nER\nEF\n"
    )
    medline, inspec = papers(taken(web_of_science, written, tmp_path))
    assert ([*map(str, medline.authors)], medline.extra["pages"]) == (["Ada Berg", "Bo C Lund"], "24-57")
    assert (medline.ids, inspec.ids) == (["pmid:1"], ["inspec:1"])
