"""OpenAlex works, from the snapshot or from the API."""

import json
from pathlib import Path

from reading import DATA, papers, problems, taken

from citewell.papers import Reference
from citewell.sources import openalex


def test_a_work() -> None:
    records = taken(openalex, DATA / "openalex.jsonl")
    assert not problems(records)
    paper, older = papers(records)
    assert (paper.title, paper.abstract) == ("On invented things", "We study things and things more.")
    assert [*map(str, paper.authors)] == ["Jörg Müller", "Jane Doe"]
    assert (paper.year, paper.date, paper.venue) == (2019, "2019-05-17", "Journal of Made-up Inventions")
    assert paper.ids == ["openalex:W2741809807", "doi:10.9999/jmi.2019.1", "mag:2741809807", "pmid:30000001", "pmcid:7000001"]
    assert paper.keywords == ["Invention", "Thing"]
    assert paper.references == [Reference(["openalex:W7"]), Reference(["openalex:W8"])]
    assert paper.extra == {
        "type": "article",
        "volume": "3",
        "issue": "2",
        "pages": "101-110",
        "publisher": "Imaginary Press",
        "issn": "1234-5678",
        "url": "https://doi.org/10.9999/jmi.2019.1",
        "language": "en",
    }
    assert (older.venue, older.ids) == ("Old Journal", ["openalex:W8"])


def test_a_page_of_the_api_and_a_single_work(tmp_path: Path) -> None:
    works = [json.loads(line) for line in (DATA / "openalex.jsonl").read_text().splitlines()]
    page = json.dumps({"meta": {"count": 2}, "results": works, "group_by": []}).encode()
    single = json.dumps(works[0], indent=2).encode()
    expected = taken(openalex, DATA / "openalex.jsonl")
    assert openalex.matches(page)
    assert taken(openalex, page, tmp_path) == expected
    assert taken(openalex, single, tmp_path) == expected[:1]


def test_hostile_abstracts_allocate_nothing(tmp_path: Path) -> None:
    index = {"a": [10**18, -5, "x", None, True], "b": 7, "c": [0], "d": [1e300]}
    work = {"id": "https://openalex.org/W1", "title": "T", "abstract_inverted_index": index}
    (paper,) = papers(taken(openalex, json.dumps(work).encode(), tmp_path))
    assert paper.abstract == "a c a a"


def test_a_retraction_is_read_and_other_entities_are_not_papers(tmp_path: Path) -> None:
    retracted = {"id": "https://openalex.org/W1", "title": "T", "is_retracted": True}
    author = {"id": "https://openalex.org/A1", "display_name": "X"}
    records = taken(openalex, "\n".join(map(json.dumps, (retracted, author))).encode(), tmp_path)
    assert papers(records)[0].extra == {"retracted": "yes"}
    assert [each.line for each in problems(records)] == [2]
