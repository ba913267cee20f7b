"""The ACL Anthology: papers with Anthology ids, and their proceedings."""

from pathlib import Path

import pytest
from reading import DATA, SAMPLES, needs_samples, papers, problems, taken

from citewell.sources import acl_anthology

FILE = DATA / "acl.xml"


def volume(collection: str, number: str, inside: str) -> bytes:
    meta = "<meta><booktitle>B</booktitle><year>2019</year></meta>"
    return f'<collection id="{collection}">\n<volume id="{number}">{meta}\n{inside}</volume></collection>'.encode()


def test_a_paper() -> None:
    records = taken(acl_anthology, FILE)
    assert not problems(records)
    paper = papers(records)[1]
    assert paper.title == "Parsing Klingon in O(n^3) time: really"
    assert paper.abstract == "We parse tlhIngan. It works; see https://example.org."
    assert [*map(str, paper.authors)] == ["Worf Mogh", "Spock"]
    assert (paper.year, paper.date) == (1999, "1999-06")
    assert paper.venue == "Proceedings of the Workshop on Invented Languages"
    assert paper.ids == ["acl:W99-0301", "doi:10.3115/w99-0301"]
    assert paper.extra == {
        "type": "paper-conference",
        "pages": "1-10",
        "publisher": "Invented Press",
        "publisher-place": "Nowhere",
        "container-title-short": "WS",
        "citekey": "mogh-spock-1999-parsing",
        "url": "https://aclanthology.org/W99-0301",
    }


def test_the_front_matter_is_the_proceedings() -> None:
    paper = papers(taken(acl_anthology, FILE))[0]
    assert paper.title == paper.venue == "Proceedings of the Workshop on Invented Languages"
    assert ([*map(str, paper.authors)], paper.ids) == (["Edith Editor"], ["acl:W99-0300"])
    assert (paper.extra["type"], paper.extra["citekey"]) == ("proceedings", "ws-1999-invented")


@pytest.mark.parametrize(
    ("collection", "number", "paper", "identifier"),
    [
        ("W99", "3", "12", "acl:W99-0312"),
        ("P16", "1", "1", "acl:P16-1001"),
        ("D19", "1", "22", "acl:D19-1022"),
        ("D19", "50", "2", "acl:D19-5002"),
        ("2020.acl", "main", "7", "acl:2020.acl-main.7"),
    ],
)
def test_ids_without_an_address_follow_the_numbering_scheme(
    tmp_path: Path, collection: str, number: str, paper: str, identifier: str
) -> None:
    data = volume(collection, number, f'<paper id="{paper}"><title>T</title></paper>')
    assert papers(taken(acl_anthology, data, tmp_path))[0].ids == [identifier]


def test_bad_records_are_problems_with_their_line(tmp_path: Path) -> None:
    inside = '<paper id="1"/>\n<paper id="2"><title>T</title></paper>\n<paper id="3"><title>A < B</title></paper>\n'
    inside += '<paper id="4"><title>U</title><url>P16-2004</url></paper>\n<paper id="5"><title>V</title></paper>\n'
    records = taken(acl_anthology, volume("P16", "1", inside), tmp_path)
    assert [paper.ids for paper in papers(records)] == [["acl:P16-1002"], ["acl:P16-1005"]]
    assert [paper.year for paper in papers(records)] == [2019, 2019]
    assert [problem.line for problem in problems(records)] == [3, 5, 6]


def test_metadata_of_a_volume_does_not_leak_into_the_next(tmp_path: Path) -> None:
    first = volume("P16", "1", "").removesuffix(b"</collection>")
    second = (
        b'<volume id="2"><meta><booktitle>C & D</booktitle></meta><paper id="1"><title>T</title></paper></volume></collection>'
    )
    records = taken(acl_anthology, first + second, tmp_path)
    assert [(paper.venue, paper.year, paper.ids) for paper in papers(records)] == [("", None, ["acl:P16-2001"])]
    assert len(problems(records)) == 1


@pytest.mark.parametrize(
    ("head", "is_anthology"), [(FILE.read_bytes(), True), (b"<collection><record>", False), (b"<dblp>", False)]
)
def test_detection(head: bytes, is_anthology: bool) -> None:
    assert acl_anthology.matches(head) == is_anthology


@pytest.mark.realdata
@needs_samples
def test_every_paper_of_the_samples_is_read() -> None:
    for path in sorted((SAMPLES / "acl-anthology").glob("*.xml")):
        records = taken(acl_anthology, path)
        written = path.read_text("utf-8")
        assert not problems(records)
        assert len(records) == written.count("<paper ") + written.count("<frontmatter>")
        assert all(paper.title and paper.authors and paper.year and paper.ids for paper in papers(records))
        assert len({paper.ids[0] for paper in papers(records)}) == len(records)
