"""CSL-JSON and the works of Crossref."""

import json
from pathlib import Path
from typing import Any

import pytest
from reading import DATA, papers, problems, taken

from citewell.papers import Name, Paper, Reference
from citewell.sources import csl_json


def one(folder: Path, **fields: Any) -> Paper:
    item = {"id": "a", "type": "article-journal", "title": "T"} | fields
    (paper,) = taken(csl_json, json.dumps([item]).encode(), folder)
    assert isinstance(paper, Paper)
    return paper


def test_an_item() -> None:
    records = taken(csl_json, DATA / "csl.json")
    assert not problems(records)
    paper = papers(records)[0]
    assert paper.title == "On invented things"
    assert [*map(str, paper.authors)] == ["Jörg Müller", "Anna van der Berg", "The Group"]
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-05-17", "Journal of Made-up Inventions")
    assert (paper.abstract, paper.keywords) == ("We study things.", ["inventions", "ranking"])
    assert paper.ids == ["doi:10.9999/jmi.2019.1", "pmid:30000001"]
    assert paper.extra == {
        "type": "article-journal",
        "citekey": "mueller2019",
        "volume": "3",
        "issue": "2",
        "pages": "101-110",
        "address": "Nowhere",
    }
    assert paper.people == {"editor": [Name("Richard", "Roe")]}


def test_a_work_of_crossref() -> None:
    (paper,) = papers(taken(csl_json, DATA / "crossref.json"))
    assert paper.title == "On invented things: a study"
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-05", "Journal of Made-up Inventions")
    assert paper.references == [Reference(["doi:10.9999/jmi.2001.1"]), Reference([], "Earlier things", 2002, ["Doe"])]
    assert paper.keywords == ["Invention"]


@pytest.mark.parametrize(
    ("issued", "year", "date"),
    [
        ({"date-parts": [[2020]]}, 2020, ""),
        ({"date-parts": [["2020", "5"]]}, 2020, "2020-05"),
        ({"date-parts": [[2020, 5, 17], [2020, 6]]}, 2020, "2020-05-17"),
        ({"raw": "17 May 2020"}, 2020, ""),
        ({"literal": "2020-05-17"}, 2020, "2020-05-17"),
        ("2020-05", 2020, "2020-05"),
        ({"date-parts": [[]]}, None, ""),
        ({"date-parts": [[None]]}, None, ""),
        ({"date-parts": 5}, None, ""),
        (None, None, ""),
    ],
)
def test_dates(issued: object, year: int | None, date: str, tmp_path: Path) -> None:
    paper = one(tmp_path, issued=issued)
    assert (paper.year, paper.date) == (year, date)


def test_no_field_is_dropped(tmp_path: Path) -> None:
    given = {
        "note": "see",
        "archive": "Here",
        "accessed": {"date-parts": [[2020, 1, 2]]},
        "ISSN": ["1", "2"],
        "custom": {"own": 7},
    }
    paper = one(tmp_path, **given, translator=[{"family": "Roe"}])
    assert (
        paper.extra.items() >= {"note": "see", "archive": "Here", "accessed": "2020-01-02", "issn": "1; 2", "own": "7"}.items()
    )
    assert paper.people == {"translator": [Name(family="Roe")]}


def test_a_bad_item_is_skipped(tmp_path: Path) -> None:
    written = '[{"id": "a", "type": "book", "title": "A"},\n{"id": "b", "type": "book"},\n"x",\n{"id": "c", "title": "C"}]'
    records = taken(csl_json, written.encode(), tmp_path)
    assert [each.title for each in papers(records)] == ["A", "C"]
    assert [each.line for each in problems(records)] == [2, 3]
