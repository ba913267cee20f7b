"""PubMed XML: articles and books, with their references."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Reference
from citewell.sources import pubmed

FILE = DATA / "pubmed.xml"


def test_an_article() -> None:
    result = taken(pubmed, FILE)
    assert not problems(result)
    paper = papers(result)[0]
    assert paper.title == "Effects of in vitro H2O on thirst"
    assert paper.abstract == "Background: People are thirsty. Results: Water helps (p < 0.05)."
    assert [*map(str, paper.authors)] == ["Ann B Dry 3rd", "W Wet", "The Water Group"]
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-03-07", "Invented medicine")
    assert paper.ids == ["pmid:12345", "pmcid:777", "doi:10.9999/invmed.1"]
    assert paper.keywords == ["thirst", "Water"]
    assert paper.references == [
        Reference(["pmid:54321", "doi:10.9999/rain"], year=1999),
        Reference(["pmcid:888"], year=2001),
    ]
    assert paper.extra == {
        "type": "article-journal",
        "genre": "Journal Article",
        "volume": "12",
        "issue": "3",
        "pages": "100-9",
        "issn": "1111-2222",
        "language": "eng",
    }


def test_a_translated_title_and_a_date_in_words() -> None:
    paper = papers(taken(pubmed, FILE))[1]
    assert (paper.title, paper.year, paper.date) == ("A translated title", 1998, "1998-12")


def test_a_chapter_of_a_book() -> None:
    paper = papers(taken(pubmed, FILE))[2]
    assert (paper.title, paper.venue, paper.year) == ("A chapter on ice", "The Book of Water", 2010)
    assert paper.ids == ["pmid:3", "doi:10.9999/book.3"]
    assert [*map(str, paper.authors)] == ["C Cold"]
    assert paper.extra == {"type": "chapter", "publisher": "Book House"}


@pytest.mark.parametrize(("date", "expected"), [("2000 Spring", "2000"), ("1975-1976", "1975"), ("Winter", ""), ("", "")])
def test_medline_dates(tmp_path: Path, date: str, expected: str) -> None:
    issue = f"<Journal><JournalIssue><PubDate><MedlineDate>{date}</MedlineDate></PubDate></JournalIssue></Journal>"
    record = f"<MedlineCitation><PMID>1</PMID><Article>{issue}<ArticleTitle>T</ArticleTitle></Article></MedlineCitation>"
    (paper,) = papers(taken(pubmed, f"<MedlineCitationSet>{record}</MedlineCitationSet>".encode(), tmp_path))
    assert (paper.title, paper.date, paper.ids) == ("T", expected, ["pmid:1"])


def test_bad_records_are_problems_with_their_line(tmp_path: Path) -> None:
    good = (
        b"<PubmedArticle><MedlineCitation><Article><ArticleTitle>T</ArticleTitle></Article></MedlineCitation></PubmedArticle>\n"
    )
    bad = b"<PubmedArticle><MedlineCitation/></PubmedArticle>\n<PubmedArticle><Pmid></PubmedArticle>\n<PubmedBookArticle/>\n"
    gone = b"<DeleteCitation><PMID>1</PMID><PMID>2</PMID></DeleteCitation>\n"
    result = taken(pubmed, b"<PubmedArticleSet>\n" + good + bad + good + gone + b"</PubmedArticleSet>", tmp_path)
    assert [paper.title for paper in papers(result)] == ["T", "T"]
    assert [problem.line for problem in problems(result)] == [3, 4, 5, 7]
    assert "withdraws 2 records" in problems(result)[-1].reason


def test_a_truncated_file(tmp_path: Path) -> None:
    data = FILE.read_bytes()
    result = taken(pubmed, data[: data.index(b"<PubmedBookArticle>") + 100], tmp_path)
    assert len(papers(result)) == 2
    assert len(problems(result)) == 1


@pytest.mark.parametrize(
    ("head", "is_pubmed"),
    [
        (FILE.read_bytes(), True),
        (b"<MedlineCitationSet>", True),
        (b"<PubmedArticle>", True),
        (b"<pmc-articleset>", False),
        (b"<x><PubmedArticleSet>", False),
    ],
)
def test_detection(head: bytes, is_pubmed: bool) -> None:
    assert pubmed.matches(head) == is_pubmed
