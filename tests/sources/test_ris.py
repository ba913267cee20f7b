"""RIS and MEDLINE tags as different programs write them."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Name, Paper
from citewell.sources import ris


def one(written: str, folder: Path) -> Paper:
    (paper,) = taken(ris, written.encode(), folder)
    assert isinstance(paper, Paper)
    return paper


def test_a_journal_article() -> None:
    records = taken(ris, DATA / "ris.ris")
    assert not problems(records)
    paper = papers(records)[0]
    assert paper.title == "On invented things"
    assert [*map(str, paper.authors)] == ["Jörg Müller", "Martin L. King Jr.", "The Group"]
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-05-17", "Journal of Made-up Inventions")
    assert paper.abstract == "We study things. DNA - this line goes on with the abstract."
    assert paper.keywords == ["inventions", "ranking"]
    assert paper.ids == ["doi:10.9999/jmi.2019.1"]
    assert paper.extra == {
        "type": "JOUR",
        "citekey": "mueller2019",
        "volume": "3",
        "issue": "2",
        "pages": "101-110",
        "issn": "1234-5678",
        "publisher": "Imaginary Press",
        "shortjournal": "JMI",
        "url": "https://example.org/1",
    }


def test_a_record_without_an_end_does_not_absorb_the_next() -> None:
    _, unended, book = papers(taken(ris, DATA / "ris.ris"))
    assert (unended.title, [*map(str, unended.authors)], unended.year) == ("A paper without an end", ["Jane Doe"], 2020)
    assert unended.ids == ["pmid:31234567"]
    assert (book.title, book.venue, book.extra["isbn"]) == ("A book", "Imaginary Press", "978-3-16-148410-0")


def test_medline_tags() -> None:
    first, _ = papers(taken(ris, DATA / "medline.nbib"))
    assert first.title == "On invented cells and what they would do"
    assert first.abstract == "BACKGROUND: We invent cells. RESULTS - they live on paper."
    assert [*map(str, first.authors)] == ["Jörg Müller", "Jane Doe", "The Cell Group"]
    assert (first.year, first.date, first.venue) == (2019, "2019-05-17", "Journal of invented cells")
    assert first.ids == ["doi:10.9999/cell.2019.1", "pmid:30000001", "pmcid:7000001"]
    assert first.keywords == ["Cells", "invention"]
    assert (first.extra["issue"], first.extra["pages"], first.extra["type"]) == ("2", "101-110", "Journal Article; Review")


def test_a_medline_record_with_little() -> None:
    _, second = papers(taken(ris, DATA / "medline.nbib"))
    assert (second.title, [*map(str, second.authors)]) == ("A second record", ["J Doe", "AB van der Berg"])
    assert (second.year, second.date, second.ids) == (2020, "2020-04-01", ["pmid:30000002"])


@pytest.mark.parametrize(
    ("tags", "field", "expected"),
    [
        ("T1  - T\nA1  - Doe, J.", "authors", [Name("J.", "Doe")]),
        ("TI  - T\nJA  - J. Inv.", "venue", "J. Inv."),
        ("TI  - T\nT2  - Proceedings", "venue", "Proceedings"),
        ("TI  - T\nN2  - Text", "abstract", "Text"),
        ("TI  - T\nY1  - 2001/03//", "date", "2001-03"),
        ("TI  - T\nPY  - 2001\nY2  - 2020/01/01", "year", 2001),
        ("TI  - T\nKW  - one\ntwo\nthree", "keywords", ["one", "two", "three"]),
        ("TI  - T\nKW  - one; two", "keywords", ["one", "two"]),
        ("TI  - T\nUR  - https://doi.org/10.9999/x", "ids", ["doi:10.9999/x"]),
        ("TI  - T\nM3  - doi: 10.9999/x", "ids", ["doi:10.9999/x"]),
        ("TI  - T\nAN  - PMID: 7", "ids", ["pmid:7"]),
        ("TI  - T\nAN  - 7", "ids", []),
        ("TI  - T\nAU  - Wang, Wei\nAU  - Wang, Wei", "authors", [Name("Wei", "Wang")] * 2),
    ],
)
def test_variants(tags: str, field: str, expected: object, tmp_path: Path) -> None:
    assert getattr(one(f"TY  - JOUR\n{tags}\nER  - \n", tmp_path), field) == expected


def test_no_field_is_dropped(tmp_path: Path) -> None:
    paper = one(
        "TY  - RPRT\nTI  - T\nC1  - custom\nN1  - note one\nN1  - note two\nA2  - Roe, R.\nED  - Doe, J.\nER  - \n", tmp_path
    )
    assert paper.extra == {"type": "RPRT", "c1": "custom", "note": "note one; note two"}
    assert paper.people == {"editor": [Name("R.", "Roe"), Name("J.", "Doe")]}


def test_loose_spacing_and_a_preamble(tmp_path: Path) -> None:
    written = "Provider: Somebody\nContent: text/plain\n\nTY - JOUR\nTI - Loose\nPY - 2001\nER -\n"
    assert ris.matches(written.encode())
    assert (one(written, tmp_path).title, one(written, tmp_path).year) == ("Loose", 2001)


def test_unreadable_records_are_reported_once(tmp_path: Path) -> None:
    written = "TY  - JOUR\nTI  - A\nER  - \nAU  - Lost, L.\nTI  - Lost\n\nTY  - JOUR\nPY  - 2001\nER  - \nTY  - JOUR\nTI  - B\n"
    records = taken(ris, written.encode(), tmp_path)
    assert [each.title for each in papers(records)] == ["A", "B"]
    assert [each.line for each in problems(records)] == [4, 7]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    written = "TY  - JOUR\r\nTI  - Über Ähren\r\nER  - \r\n".encode(encoding)
    assert ris.matches(written)
    assert [each.title for each in papers(taken(ris, written, tmp_path))] == ["Über Ähren"]


def test_a_record_over_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ris, "_MAX_RECORD", 10_000)
    written = "TY  - JOUR\nTI  - A\nAB  - " + "x\n" * 20_000 + "ER  - \nTY  - JOUR\nTI  - B\nER  - \n"
    records = taken(ris, written.encode(), tmp_path)
    assert [each.title for each in papers(records)] == ["B"]
    assert "longer than" in problems(records)[0].reason


def test_a_million_continuation_lines_take_linear_time(tmp_path: Path) -> None:
    paper = one("TY  - JOUR\nTI  - A\nAB  - x\n" + "y\n" * 1_000_000 + "ER  - \n", tmp_path)
    assert len(paper.abstract) == 2_000_001


def test_initials_behind_a_family_name(tmp_path: Path) -> None:
    """Embase writes authors, and Scopus editors, without a comma."""
    paper = one(
        "TY  - JOUR\nTI  - A\nA1  - Berg A.\nA1  - van der Lund B.-C.\nA1  - Roe, JR\nA1  - King, Jr.\nER  - \n", tmp_path
    )
    assert paper.authors == [
        Name("A.", "Berg"),
        Name("B.-C.", "Lund", "van der"),
        Name("JR", "Roe"),
        Name("", "King", "", "Jr."),
    ]


@pytest.mark.parametrize(
    ("lines", "ids"),
    [
        ("AN  - 21\nDP  - NLM", ["pmid:21"]),
        (
            "C2  - 22\nDB  - Scopus\nUR  - https://www.scopus.com/inward/record.uri?eid=2-s2.0-85&doi=10.1000%2f1",
            ["pmid:22", "scopus:2-s2.0-85"],
        ),
        ("C2  - 22\nDB  - Embase", []),
        ("C5  - 23\nDB  - Embase; Medline", ["pmid:23"]),
        ("U1  - 24[pmid]\nAN  - PMC25\nC2  - PMC25", ["pmid:24", "pmcid:25"]),
        ("PMID  - 26\nAN  - WOS:0001", ["pmid:26", "wos:0001"]),
        (
            "DO  - 10.1000/1\nUR  - https://doi.org/10.1000/2\nL2  - https://arxiv.org/abs/1706.03762",
            ["doi:10.1000/1", "arxiv:1706.03762"],
        ),
        ("UR  - http://dx.doi.org/10.1000/1%5Cnhttps://example.org", ["doi:10.1000/1"]),
    ],
)
def test_where_databases_put_identifiers(lines: str, ids: list[str], tmp_path: Path) -> None:
    assert one(f"TY  - JOUR\nTI  - A\n{lines}\nER  - \n", tmp_path).ids == ids


def test_what_databases_add_to_numbers(tmp_path: Path) -> None:
    chapter = one("TY  - CONF\nTI  - A\nSN  - 9783161484100 (ISBN)\nSP  - pp 37-64\nER  - \n", tmp_path)
    assert (chapter.extra["isbn"], chapter.extra["pages"], "issn" in chapter.extra) == ("9783161484100", "37-64", False)
    article = one("TY  - JOUR\nTI  - A\nSN  - 12345678 (ISSN)\nSP  - No\nEP  - Specified\nER  - \n", tmp_path)
    assert (article.extra["issn"], "pages" in article.extra) == ("12345678", False)


def test_what_ovid_writes_between_records_is_no_problem(tmp_path: Path) -> None:
    record = "TY  - JOUR\nTI  - A\nER  - \nNL  - Harbour Stud\n\nLink to the text: https://example.org\n\n"
    records = taken(ris, f"1.\n{record}2.\n{record}".encode(), tmp_path)
    assert (len(papers(records)), problems(records)) == (2, [])


def test_records_of_eric(tmp_path: Path) -> None:
    """They begin with their database, and have no number of PubMed."""
    record = """
OWN - ERIC
TI  - Counting {} at School
AU  - Berg, Ada
AU  - Lund, B.
OT  - Boats
JT  - Harbour Teaching
AID - http://dx.doi.org/10.1000/{}
OID - EJ{}
VI  - 10
IP  - 1
PG  - 1-9
DP  - 2000
LID - http://eric.ed.gov/?id=EJ1
AB  - We count.
ISSN - ISSN-1234-5678
EISSN - EISSN-1234-5679
PT  - Journal Articles
"""
    written = (record.format("boats", 1, 1) + record.format("tides", 2, 2)).encode()
    assert ris.matches(written)
    first, second = papers(taken(ris, written, tmp_path))
    assert (first.title, second.title) == ("Counting boats at School", "Counting tides at School")
    assert first.authors == [Name("Ada", "Berg"), Name("B.", "Lund")]
    assert (first.year, first.venue, first.keywords) == (2000, "Harbour Teaching", ["Boats"])
    assert first.ids == ["doi:10.1000/1", "eric:EJ1"]
    assert {"volume": "10", "issue": "1", "pages": "1-9", "issn": "1234-5678"}.items() <= first.extra.items()
