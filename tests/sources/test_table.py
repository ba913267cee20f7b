"""Tables with a header: delimiters, names of columns, quotes, and lists of authors."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Paper, Reference
from citewell.sources import find_reader, table, table_rows, zotero_csv
from citewell.sources.name_lists import listed_names


def one(written: str, folder: Path) -> Paper:
    assert find_reader(written.encode()) is table
    (paper,) = taken(table, written.encode(), folder)
    assert isinstance(paper, Paper)
    return paper


def test_a_table_from_a_spreadsheet() -> None:
    records = taken(table, DATA / "table.csv")
    titles = ["Counting boats in the harbour", "Tides move the boats", "A quote that is never closed", "Gulls and boats"]
    assert [each.title for each in papers(records)] == titles
    first, second = papers(records)[:2]
    assert first.abstract == 'We count boats. All of them; "really".'
    assert ([*map(str, first.authors)], first.year, first.venue) == (["Ada Berg", "Bo Lund"], 2015, "Harbour Studies")
    assert (first.ids, first.keywords) == (["doi:10.9999/boats.2015.1"], ["boats", "harbours"])
    assert first.extra == {"volume": "3", "pages": "1-9", "my-own-column": "read"}
    assert ([*map(str, second.authors)], second.year, second.venue) == (["Ada Berg", "Bo Lund"], 2019, "")
    assert [(each.line, each.reason) for each in problems(records)] == [(7, "the row has neither a title nor an identifier")]


def test_the_csv_of_pubmed() -> None:
    (paper,) = papers(taken(table, DATA / "pubmed.csv"))
    assert [*map(str, paper.authors)] == ["A Berg", "BC Lund"]
    assert paper.ids == ["doi:10.9999/boats.2015.1", "pmid:30000001", "pmcid:7000001"]
    assert (paper.year, paper.venue) == (2015, "Harb Stud")


def test_the_csv_of_springer(tmp_path: Path) -> None:
    """It has no space between the names of two authors."""
    paper = one(
        "Item Title,Publication Title,Book Series Title,Journal Volume,Journal Issue,Item DOI,Authors,Publication Year,URL,"
        'Content Type\n"Boats","Harbour Studies","","3","2","10.1000/1","Ada BergBo McDonaldC. D. Lund","2015","http://a","Article"\n',
        tmp_path,
    )
    assert ([*map(str, paper.authors)], paper.year, paper.venue) == (
        ["Ada Berg", "Bo McDonald", "C. D. Lund"],
        2015,
        "Harbour Studies",
    )
    assert paper.ids == ["doi:10.1000/1"]
    assert {"volume": "3", "issue": "2", "type": "Article"}.items() <= paper.extra.items()


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("Harbour Studies (2014) 3:2 (1-9). Date of Publication: 2014", ("Harbour Studies", 2014, "3", "2", "1-9")),
        (
            "Harbour Studies (2014) 3 SUPPL. 1 (S9). Date: 1 May 2014",
            ("Harbour Studies", 2014, "3 SUPPL. 1", None, "S9"),
        ),
        ("Harbour Studies (London)", ("Harbour Studies (London)", None, None, None, None)),
        ("Tides (1998)", ("Tides (1998)", None, None, None, None)),
    ],
)
def test_the_journal_of_embase(source: str, read: tuple[object, ...], tmp_path: Path) -> None:
    paper = one(f'Title,Author Names,Source,Abstract\nBoats,"Berg A., Lund B.C.","{source}",x\n', tmp_path)
    assert [*map(str, paper.authors)] == ["A. Berg", "B.C. Lund"]
    assert (paper.venue, paper.year, *(paper.extra.get(name) for name in ("volume", "issue", "pages"))) == read


def test_the_csv_of_zotero() -> None:
    records = taken(zotero_csv, DATA / "zotero.csv")
    article, chapter = papers(records)
    assert article.ids == ["doi:10.9999/boats.2015.1", "pmid:30000001", "zotero:AAAA1111"]
    assert ([*map(str, article.authors)], article.date, article.venue) == (
        ["Ada Berg", "Bo Lund"],
        "2015-05-17",
        "Harbour Studies",
    )
    assert (article.keywords, article.extra["citekey"]) == (["boats", "harbours", "tides"], "berg2015")
    assert ([*map(str, chapter.people["editor"])], chapter.extra["type"]) == (["Bo Lund"], "chapter")
    assert [(each.line, each.reason) for each in problems(records)] == [(7, "the item has no title")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_delimiters_line_ends_and_encodings(delimiter: str, end: str, encoding: str, tmp_path: Path) -> None:
    rows = [["Article Title", "Author(s)", "Publication Year"], ["Über Ähren", "Jörg Müller", "2019"]]
    written = end.join(delimiter.join(row) for row in rows).encode(encoding)
    assert find_reader(written) is table
    (paper,) = papers(taken(table, written, tmp_path))
    assert (paper.title, [*map(str, paper.authors)], paper.year) == ("Über Ähren", ["Jörg Müller"], 2019)


@pytest.mark.parametrize(
    ("header", "cell", "field", "expected"),
    [
        ("Journal/Book", "Tides", "venue", "Tides"),
        ("source title", "Tides", "venue", "Tides"),
        ("Publication_Date", "2019-05-17", "date", "2019-05-17"),
        ("Année", "2019", "year", 2019),
        ("DOI Link", "https://doi.org/10.9999/X", "ids", ["doi:10.9999/x"]),
        ("arXiv ID", "1706.03762v2", "ids", ["arxiv:1706.03762"]),
        ("PubMed ID", "7.0", "ids", ["pmid:7"]),
        ("Link", "https://pubmed.ncbi.nlm.nih.gov/7/", "ids", ["pmid:7"]),
        ("Author Keywords", "a; b", "keywords", ["a", "b"]),
        (
            "Cited references",
            "Berg 10.9999/a; Lund 10.9999/b",
            "references",
            [Reference(["doi:10.9999/a"]), Reference(["doi:10.9999/b"])],
        ),
        ("Notes", "read it", "extra", {"note": "read it"}),
    ],
)
def test_names_of_columns(header: str, cell: str, field: str, expected: object, tmp_path: Path) -> None:
    assert getattr(one(f'title,"{header}",author\nBoats,"{cell}",\n', tmp_path), field) == expected


@pytest.mark.parametrize(
    "written",
    ["title\nBoats\n", "name,year\nBoats,2001\n", "title,price\nBoats,7\n", "a title, an author\n", "Title\n,year\n"],
)
def test_other_tables_have_no_reader(written: str) -> None:
    assert find_reader(written.encode()) is None


def test_an_abstract_may_quote_another_format(tmp_path: Path) -> None:
    paper = one('title,year,abstract\nBoats,2001,"We write\n@article{a, title={B}}\nTY  - JOUR\n"\n', tmp_path)
    assert paper.abstract == "We write @article{a, title={B}} TY - JOUR"


def test_rows_with_too_many_cells_are_problems(tmp_path: Path) -> None:
    records = taken(table, b"title,year\nA,2001,,\nB, and C,2002\nD\n", tmp_path)
    assert [each.title for each in papers(records)] == ["A", "D"]
    assert [(each.line, each.reason) for each in problems(records)] == [(3, "the row has 3 cells, but the header has 2")]


def test_an_unclosed_quote_affects_its_row_only(tmp_path: Path) -> None:
    rows = "".join(f"Boats {number},2001\n" for number in range(1000))
    records = taken(table, f'title,year\n"A, B,2001\n{rows}'.encode(), tmp_path)
    assert [(each.line, each.reason) for each in problems(records)] == [(2, "a quote in this row is not closed")]
    assert len(papers(records)) == 1000


def test_lines_that_a_quote_swallows_take_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "MAX_ROW", 50_000)
    records = taken(table, b'title,year\n"x\n' + b'""""\n' * 20_000, tmp_path)
    assert (len(papers(records)), len(problems(records))) == (20_000, 1)


def test_a_row_over_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "MAX_ROW", 10_000)
    records = taken(table, b"title,year\n" + b"x" * 20_000 + b",2001\nB,2002\n", tmp_path)
    assert [each.title for each in papers(records)] == ["B"]
    assert "longer than" in problems(records)[0].reason


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("Lovelace, Ada", ["Ada Lovelace"]),
        ("Ada Lovelace", ["Ada Lovelace"]),
        ("Lovelace, Ada; Turing, Alan", ["Ada Lovelace", "Alan Turing"]),
        ("Ada Lovelace, Alan Turing", ["Ada Lovelace", "Alan Turing"]),
        ("Ada Lovelace, Alan Turing, and Kurt Gödel", ["Ada Lovelace", "Alan Turing", "Kurt Gödel"]),
        ("Ada Lovelace & Alan Turing", ["Ada Lovelace", "Alan Turing"]),
        ("Lovelace, A., Turing, A. M.", ["A. Lovelace", "A. M. Turing"]),
        ("Lovelace A, Turing AM.", ["A Lovelace", "AM Turing"]),
        ("Lovelace A., Turing A.M.", ["A. Lovelace", "A.M. Turing"]),
        ("van der Berg, Jan Willem", ["Jan Willem van der Berg"]),
        ("Lovelace, Ada (57000000001); Turing, Alan (57000000002)", ["Ada Lovelace", "Alan Turing"]),
        ("['Ada Lovelace', \"Flann O'Brien\"]", ["Ada Lovelace", "Flann O'Brien"]),
        ("Ada Lovelace et al.", ["Ada Lovelace"]),
        ("Ada Lovelace|Alan Turing", ["Ada Lovelace", "Alan Turing"]),
        ("José Ortega y Gasset", ["José Ortega y Gasset"]),
        ("", []),
        (";;, ,", []),
    ],
)
def test_lists_of_authors(listed: str, expected: list[str]) -> None:
    assert [*map(str, listed_names(listed))] == expected
