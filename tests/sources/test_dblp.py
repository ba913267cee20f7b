"""DBLP: clean names and titles without the DTD."""

from pathlib import Path

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Reference
from citewell.sources import dblp

FILE = DATA / "dblp.xml"


def test_an_article() -> None:
    records = taken(dblp, FILE)
    assert not problems(records)
    paper = papers(records)[0]
    assert paper.title == "On O(n2) Inventions"
    assert [*map(str, paper.authors)] == ["Jürgen Müller", "Émile Zola"]
    assert (paper.year, paper.date, paper.venue) == (2001, "2001-05", "J. Inv.")
    assert paper.ids == ["dblp:journals/inv/MuellerW01", "doi:10.9999/inv.1", "acl:P01-1001"]
    assert paper.references == [Reference(["dblp:conf/inv/First99"])]
    assert paper.extra == {
        "type": "article-journal",
        "pages": "1-10",
        "volume": "3",
        "issue": "2",
        "url": "https://doi.org/10.9999/INV.1",
    }


def test_each_publication_type_without_people() -> None:
    records = papers(taken(dblp, FILE))[1:]
    assert [(paper.title, paper.extra["type"], paper.venue) for paper in records] == [
        ("Is it so?", "preprint", "CoRR"),
        ("Inventions '99, Proceedings", "proceedings", "INV"),
        ("And so on...", "paper-conference", "INV"),
        ("A Thesis", "thesis", "University of Nowhere"),
    ]
    assert records[0].ids == ["dblp:journals/corr/abs-1701-00001", "arxiv:1701.00001"]
    assert [*map(str, records[1].authors)] == ["Ed Itor"]
    assert records[1].extra["isbn"] == "1-2-3"


def test_entities_need_no_doctype(tmp_path: Path) -> None:
    data = b"<dblp><book key='a/b'><author>Kurt G&ouml;del</author><title>&Uuml;ber &amp; &mu;.</title></book></dblp>"
    (paper,) = papers(taken(dblp, data, tmp_path))
    assert (paper.title, [*map(str, paper.authors)]) == ("Über & μ", ["Kurt Gödel"])


def test_bad_records_are_problems_with_their_line(tmp_path: Path) -> None:
    good = b"<article key='a/b'><title>T.</title></article>\n"
    bad = b"<article key='c/d'/>\n<book><title>A &evil; thing</title></book>\n<article><title></article>\n"
    records = taken(dblp, b"<dblp>\n" + good + bad + good + b"</dblp>", tmp_path)
    assert [paper.title for paper in papers(records)] == ["T", "T"]
    assert [problem.line for problem in problems(records)] == [3, 4, 5]


def test_a_truncated_file(tmp_path: Path) -> None:
    data = FILE.read_bytes()
    cut = data.index(b"<inproceedings")
    records = taken(dblp, data[: cut + 30], tmp_path)
    assert len(papers(records)) == 3
    assert [problem.line for problem in problems(records)] == [1 + data.count(b"\n", 0, cut)]


def test_memory_does_not_grow_with_people(tmp_path: Path) -> None:
    person = b'<www key="homepages/x"><author>P. Erson</author><title>Home Page</title></www>\n'
    records = taken(dblp, b"<dblp>" + person * 120_000 + b"<book key='a/b'><title>T</title></book></dblp>", tmp_path)
    assert [paper.title for paper in papers(records)] == ["T"]
    assert not problems(records)


@pytest.mark.parametrize(("head", "is_dblp"), [(FILE.read_bytes(), True), (b"<dblpperson>", False), (b"<article>", False)])
def test_detection(head: bytes, is_dblp: bool) -> None:
    assert dblp.matches(head) == is_dblp
