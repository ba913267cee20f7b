"""arXiv's harvest: the same paper in every format."""

from pathlib import Path

import pytest
from reading import DATA, SAMPLES, needs_samples, papers, problems, taken

from citewell.sources import arxiv_oai

FILE = DATA / "arxiv_raw.xml"


def test_raw_records() -> None:
    paper = papers(taken(arxiv_oai, FILE))[0]
    assert paper.title == r"Schöne $\'x$ of Erdős"
    assert paper.abstract == "We invent things."
    assert [*map(str, paper.authors)] == ["José A. Author", "B. Writer Jr.", "Chan-Ho Łee", "Ø. Third"]
    assert (paper.year, paper.date, paper.venue) == (2007, "2007-04-02", "J. Inv. 3 (2008) 1-3")
    assert paper.ids == ["arxiv:0704.9001", "doi:10.9999/inv.9001"]
    assert paper.keywords == ["cs.DS", "math.CO"]
    assert paper.extra == {
        "journal-ref": "J. Inv. 3 (2008) 1-3",
        "note": "3 pages",
        "type": "preprint",
        "url": "https://arxiv.org/abs/0704.9001",
    }


def test_records_with_parsed_names() -> None:
    paper = papers(taken(arxiv_oai, FILE))[1]
    assert [*map(str, paper.authors)] == ["Anna van Author III", "Collective"]
    assert (paper.ids, paper.date, paper.venue) == (["arxiv:cs/0701001"], "2007-01-05", "arXiv")


def test_dublin_core_records() -> None:
    paper = papers(taken(arxiv_oai, FILE))[2]
    assert [*map(str, paper.authors)] == ["Given Family", "Robert W. Heath Jr.", "Mononym"]
    assert paper.keywords == ["Computer Science - Logic in Computer Science"]
    assert (paper.abstract, paper.extra["note"]) == ("What we did.", "5 pages")
    assert (paper.date, paper.venue) == ("2007-04-02", "LNCS 1, pp. 1-2")
    assert paper.ids == ["arxiv:0704.9004", "doi:10.9999/dc.4"]


def test_a_deleted_record_is_a_problem() -> None:
    (problem,) = problems(taken(arxiv_oai, FILE))
    assert problem.reason == "arxiv:0704.9002 was deleted by arXiv"
    assert 'status="deleted"' in FILE.read_text().splitlines()[(problem.line or 0) - 1]


def test_bad_records_are_problems_and_the_others_are_read(tmp_path: Path) -> None:
    data = FILE.read_bytes().replace(b"<arXivRaw ", b"<arXivRaw <").replace(b"cs/0701001", b"someid")
    data = data.replace(b"<ListRecords>", b'<error code="badArgument">No.</error><ListRecords>')
    records = taken(arxiv_oai, data, tmp_path)
    assert [paper.title for paper in papers(records)] == ["A plain one"]
    assert [problem.reason.partition(":")[0] for problem in problems(records)] == [
        "arXiv reports an error",
        "not well-formed XML",
        "arxiv",
        "the record has no arXiv id",
    ]


def test_an_unsupported_format_names_the_supported_ones(tmp_path: Path) -> None:
    record = b"<record><header><identifier>oai:arXiv.org:0704.1</identifier></header><metadata><marc/></metadata></record>"
    (problem,) = problems(taken(arxiv_oai, b"<OAI-PMH>" + record + b"</OAI-PMH>", tmp_path))
    assert "harvest oai_dc, arXiv or arXivRaw" in problem.reason


def test_a_truncated_file(tmp_path: Path) -> None:
    data = FILE.read_bytes()
    records = taken(arxiv_oai, data[: data.index(b"<arXiv ") + 300], tmp_path)
    assert len(papers(records)) == 1
    assert len(problems(records)) == 2


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("A. One, B. Two and C. Three", ["A. One", "B. Two", "C. Three"]),
        ("A. One, and B. Two", ["A. One", "B. Two"]),
        ("The X Collaboration: A. One, B. Two", ["The X Collaboration", "A. One", "B. Two"]),
        ("A. One (a, b and c), B. Two ((1) X, (2) Y", ["A. One", "B. Two"]),
        ("Alexander Anderson", ["Alexander Anderson"]),
        ("A. One, Jr., B. Two, III", ["A. One Jr.", "B. Two III"]),
        ("", []),
    ],
)
def test_lines_of_authors(tmp_path: Path, line: str, names: list[str]) -> None:
    described = f"<arXivRaw><id>0704.0001</id><title>T</title><authors>{line}</authors></arXivRaw>"
    data = f"<OAI-PMH><record><metadata>{described}</metadata></record></OAI-PMH>".encode()
    assert [*map(str, papers(taken(arxiv_oai, data, tmp_path))[0].authors)] == names


@pytest.mark.parametrize(
    ("head", "is_arxiv"),
    [
        (FILE.read_bytes(), True),
        (b"<OAI-PMH><request>http://export.arxiv.org/oai2</request>", True),
        (b"<OAI-PMH><identifier>oai:zenodo.org:1</identifier>", False),
        (b"<feed>oai:arXiv.org:1</feed>", False),
    ],
)
def test_detection(head: bytes, is_arxiv: bool) -> None:
    assert arxiv_oai.matches(head) == is_arxiv


@pytest.mark.realdata
@needs_samples
def test_every_record_of_the_sample_is_a_paper() -> None:
    for path in (SAMPLES / "arxiv-oai").glob("*.xml"):
        records = taken(arxiv_oai, path)
        assert len(papers(records)) == len(records) == path.read_text("utf-8").count("<record>")
        assert all(paper.title and paper.abstract and paper.authors and paper.year for paper in papers(records))
        assert len({paper.ids[0] for paper in papers(records)}) == len(records)
