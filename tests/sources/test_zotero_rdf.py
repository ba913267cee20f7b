"""Zotero's RDF export."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.sources import zotero_rdf


def test_an_article_takes_what_its_journal_says() -> None:
    article = papers(taken(zotero_rdf, DATA / "zotero.rdf"))[0]
    assert article.title == "Counting boats in the harbour"
    assert [*map(str, article.authors)] == ["Ada Berg", "The Harbour Group"]
    assert (article.year, article.date, article.venue) == (2015, "2015-05-17", "Harbour Studies")
    assert article.ids == ["doi:10.9999/boats.2015.1", "pmid:30000001"]
    assert article.keywords == ["boats", "tides"]
    fields = {"volume": "3", "issue": "2", "issn": "1234-5678", "citekey": "berg2015", "type": "article-journal"}
    assert fields.items() <= article.extra.items()


def test_a_chapter_with_its_book_inside() -> None:
    chapter = papers(taken(zotero_rdf, DATA / "zotero.rdf"))[1]
    assert (chapter.title, [*map(str, chapter.authors)], chapter.venue) == (
        "Tides move the boats",
        ["Ada Berg"],
        "A book of tides",
    )
    assert [*map(str, chapter.people["editor"])] == ["Bo Lund"]
    expected = {"series": "Books of the sea", "isbn": "978-3-16-148410-0", "publisher": "Imaginary Press"}
    assert expected.items() <= chapter.extra.items()
    assert chapter.extra["address"] == "Oslo"


def test_attachments_and_collections_are_left_out_and_items_without_a_title_reported() -> None:
    records = taken(zotero_rdf, DATA / "zotero.rdf")
    assert len(papers(records)) == 3
    assert [(each.line, each.reason) for each in problems(records)] == [(57, "the item has no title")]


def test_an_item_whose_journal_is_missing_is_read() -> None:
    assert papers(taken(zotero_rdf, DATA / "zotero.rdf"))[-1].title == "A book with no journal"


@pytest.mark.parametrize("room", [0, 10**6])
def test_many_items_wait_up_to_a_limit(room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zotero_rdf, "_MAX_WAITING", room)
    start = (DATA / "zotero.rdf").read_text().partition("    <bib:Article")[0]
    items = "".join(
        f"<bib:Article><z:itemType>journalArticle</z:itemType><dc:title>{number}</dc:title>"
        f'<dcterms:isPartOf rdf:resource="urn:issn:{number}"/></bib:Article>\n'
        for number in range(100)
    )
    journals = "".join(
        f'<bib:Journal rdf:about="urn:issn:{number}"><dc:title>J</dc:title></bib:Journal>\n' for number in range(100)
    )
    result = papers(taken(zotero_rdf, f"{start}{items}{journals}</rdf:RDF>".encode(), tmp_path))
    assert sorted(int(each.title) for each in result) == list(range(100))
    assert {each.venue for each in result} == ({"J"} if room else {""})


def test_a_broken_item_does_not_stop_the_others(tmp_path: Path) -> None:
    written = (DATA / "zotero.rdf").read_bytes().replace(b"<bib:pages>1-9</bib:pages>", b"<bib:pages>1-9</pages>")
    records = taken(zotero_rdf, written, tmp_path)
    assert "Tides move the boats" in [each.title for each in papers(records)]
    assert any("not well-formed" in each.reason for each in problems(records))
