"""The arXiv snapshot: the first version counts, and names come from their parts."""

import json
from pathlib import Path

from reading import DATA, papers, problems, taken

from citewell.sources import arxiv_snapshot


def test_a_paper() -> None:
    result = taken(arxiv_snapshot, DATA / "arxiv_snapshot.jsonl")
    assert not problems(result)
    paper, older = papers(result)
    assert (paper.title, paper.abstract) == ("On invented things with a long title", "We study $k$-things.")
    assert [*map(str, paper.authors)] == ["Jörg Müller", "Jane Doe", "Martin L. King Jr"]
    assert (paper.year, paper.date, paper.venue) == (2021, "2021-01-04", "J. Inv. 3 (2019) 101")
    assert paper.ids == ["arxiv:2101.00001", "doi:10.9999/jmi.2019.1"]
    assert paper.keywords == ["cs.DL", "cs.IR"]
    assert paper.extra["note"] == "8 pages"
    assert ([*map(str, older.authors)], older.date, older.venue) == (["A. Author", "B. Author"], "1999-01-01", "arXiv")
    assert older.ids == ["arxiv:hep-th/9901001"]


def test_lines_without_an_arxiv_id_and_odd_dates(tmp_path: Path) -> None:
    records = [
        {"id": "x", "title": "T", "categories": "cs.DL", "versions": []},
        {
            "id": "2101.00001",
            "title": "T",
            "versions": [{"created": "Mon, 99 Jan 99999 25:61:61 GMT"}],
            "update_date": "2021-02-03",
        },
        {"id": "2101.00002", "title": "T", "versions": [{"created": "2021-01-04"}]},
    ]
    result = taken(arxiv_snapshot, "\n".join(map(json.dumps, records)).encode(), tmp_path)
    assert [each.line for each in problems(result)] == [1]
    assert [each.date for each in papers(result)] == ["2021-02-03", "2021-01-04"]
