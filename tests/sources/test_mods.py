"""MODS records of catalogues and repositories."""

from reading import DATA, papers, problems, taken

from citewell.sources import mods


def test_an_article_in_a_journal() -> None:
    article = papers(taken(mods, DATA / "mods.xml"))[0]
    assert article.title == "The counting of boats: a harbour study"
    assert [*map(str, article.authors)] == ["Ada Berg", "Bo Lund"]
    assert (article.year, article.date, article.venue) == (2015, "2015-05-17", "Harbour Studies")
    assert (article.ids, article.keywords) == (["doi:10.9999/boats.2015.1"], ["boats", "harbours"])
    fields = {"volume": "3", "issue": "2", "pages": "1-9", "issn": "1234-5678", "citekey": "berg2015"}
    assert [*map(str, article.people["editor"])] == ["Kai Holm"]
    assert fields.items() <= article.extra.items()


def test_a_book_and_an_empty_record() -> None:
    records = taken(mods, DATA / "mods.xml")
    book = papers(records)[1]
    assert (book.title, book.year, book.venue) == ("A book of tides", 2019, "Imaginary Press")
    assert [(each.line, each.reason) for each in problems(records)] == [
        (20, "the record has neither a title nor an identifier")
    ]
