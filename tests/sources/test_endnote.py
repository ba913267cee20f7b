"""EndNote's tagged format and its XML."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Paper
from citewell.sources import endnote_tagged, endnote_xml


@pytest.mark.parametrize(("reader", "file"), [(endnote_tagged, "endnote.enw"), (endnote_xml, "endnote.xml")])
def test_an_article_and_a_chapter(reader: object, file: str) -> None:
    records = taken(reader, DATA / file)  # type: ignore[arg-type]
    article, chapter = papers(records)
    assert article.title == "Counting boats in the harbour"
    assert [*map(str, article.authors)][:2] == ["Ada Berg", "Bo Lund"]
    assert (article.year, article.date, article.venue) == (2015, "2015-05-17", "Harbour Studies")
    assert article.ids[0] == "doi:10.9999/boats.2015.1"
    assert article.keywords[:2] == ["boats", "harbours"]
    fields = {"volume": "3", "issue": "2", "pages": "1-9", "issn": "1234-5678", "type": "Journal Article"}
    assert fields.items() <= article.extra.items()
    assert (chapter.title, chapter.venue, [*map(str, chapter.people["editor"])]) == (
        "Tides move the boats",
        "A book of tides",
        ["Bo Lund"],
    )
    assert chapter.extra["isbn"] == "978-3-16-148410-0"
    (problem,) = problems(records)
    assert "neither a title nor an identifier" in problem.reason
    assert problem.line is not None


def one(written: str, folder: Path) -> Paper:
    (paper,) = papers(taken(endnote_tagged, written.encode(), folder))
    return paper


def test_a_field_goes_on_after_an_empty_line() -> None:
    assert (
        papers(taken(endnote_tagged, DATA / "endnote.enw"))[0].abstract == "We count boats. Percent signs such as 100 %A stay."
    )


def test_records_without_a_type_end_at_an_empty_line(tmp_path: Path) -> None:
    written = b"%A Berg, Ada\n%T Boats\n%D 2015\n\n%A Lund, Bo\n%T Tides\n%D May 2019\n"
    assert endnote_tagged.matches(written)
    assert [(each.title, each.year) for each in papers(taken(endnote_tagged, written, tmp_path))] == [
        ("Boats", 2015),
        ("Tides", 2019),
    ]


def test_the_type_may_come_after_the_title(tmp_path: Path) -> None:
    """As in the exports of Digital Commons, and so of AIS eLibrary."""
    written = b"%T Boats\n%0 Journal Article\n%A Berg, Ada\n%D 2015\n\n%T Tides\n%0 Journal Article\n%A Lund, Bo\n%D 2019\n"
    assert endnote_tagged.matches(written)
    assert [(each.title, *map(str, each.authors), each.year) for each in papers(taken(endnote_tagged, written, tmp_path))] == [
        ("Boats", "Ada Berg", 2015),
        ("Tides", "Bo Lund", 2019),
    ]


def test_pubmed_ids_and_urls(tmp_path: Path) -> None:
    paper = one("%0 Journal Article\n%T Boats\n%M 7\n%W NLM\n%U https://arxiv.org/abs/1706.03762\n", tmp_path)
    assert paper.ids == ["pmid:7", "arxiv:1706.03762"]


def test_comments_of_latex_are_not_endnote() -> None:
    assert not endnote_tagged.matches(b"%A list of references\n@article{a, title={B}}")
    assert not endnote_tagged.matches(b"% Encoding: UTF-8\n")


def test_a_record_over_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endnote_tagged, "_MAX_RECORD", 10_000)
    written = "%0 Report\n%T A\n%X " + "x\n" * 20_000 + "%0 Report\n%T B\n"
    records = taken(endnote_tagged, written.encode(), tmp_path)
    assert [each.title for each in papers(records)] == ["B"]
    assert "longer than" in problems(records)[0].reason


def test_a_broken_record_does_not_stop_the_others(tmp_path: Path) -> None:
    written = (DATA / "endnote.xml").read_bytes().replace(b"<volume>3</volume>", b"<volume>3</issue>")
    records = taken(endnote_xml, written, tmp_path)
    assert [each.title for each in papers(records)] == ["Tides move the boats"]
    assert problems(records)[0].line == 2
