"""citewell's own lines: papers, contexts, and the other records of a data set."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from reading import DATA, SAMPLES, needs_samples, papers, problems, taken

from citewell.papers import Context, Paper, Reference, Sentence
from citewell.sources import Source, citewell_jsonl
from citewell.text.names import parse_all


def read(folder: Path, *records: Any, namespace: str = "set") -> list[Any]:
    path = folder / "papers.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in records))
    with Source(path, namespace) as source:
        return list(citewell_jsonl.read(source))


def test_a_paper() -> None:
    paper, other, context = taken(citewell_jsonl, DATA / "citewell.jsonl")
    assert paper == Paper(
        title="On invented things",
        abstract="We study things.",
        authors=parse_all(["Jörg Müller", "Jane Doe"]),
        year=2019,
        venue="Journal of Made-up Inventions",
        ids=["doi:10.9999/jmi.2019.1"],
        id="10.9999/jmi.2019.1",
        keywords=["inventions"],
        references=[
            Reference(["local:W7"]),
            Reference(["arxiv:2101.00001"]),
            Reference(["doi:10.9999/jmi.2002.1"], "Earlier things", 2002, ["Jane Doe"]),
        ],
        extra={"licence": "CC0"},
    )
    assert isinstance(other, Paper)
    assert (other.id, other.ids) == ("W7", ["local:W7", "pmid:30000001"])
    assert other.sentences == [Sentence("First."), Sentence("Second.", "Results"), Sentence("")]
    assert context == Context(
        "As shown in TARGETCIT , things exist.",
        [Reference(["local:W7"]), Reference([], "Earlier things", 2002)],
        "doi:10.9999/jmi.2019.1",
        "Introduction",
        "c0",
    )


def test_ids_without_a_scheme_belong_to_the_namespace(tmp_path: Path) -> None:
    paper, context = read(
        tmp_path,
        {"id": "7", "title": "T", "references": ["8", "acm:10.1145/1"]},
        {"id": "c", "citing": "7", "cited": "8", "text": "x TARGETCIT"},
    )
    assert (paper.id, paper.ids) == ("7", ["set:7"])
    assert [each.ids for each in paper.references] == [["set:8"], ["doi:10.1145/1"]]
    assert (context.citing, context.cited) == ("set:7", [Reference(["set:8"])])


def test_listed_ids_stay(tmp_path: Path) -> None:
    (paper,) = read(tmp_path, {"id": "7", "title": "T", "ids": ["other:7", "https://doi.org/10.9999/X", "9"]})
    assert paper.ids == ["other:7", "doi:10.9999/x", "set:9", "set:7"]


def test_unknown_fields_are_read_as_extra(tmp_path: Path) -> None:
    (paper,) = read(
        tmp_path, {"id": "7", "title": "T", "pages": 12, "tags": ["a", "b"], "deep": {"x": 1}, "extra": {"type": "book"}}
    )
    assert paper.extra == {"pages": "12", "tags": "a; b", "type": "book"}


def test_fields_of_other_types(tmp_path: Path) -> None:
    (paper,) = read(
        tmp_path,
        {
            "id": 7,
            "title": 8,
            "abstract": ["One.", "Two."],
            "authors": [{"name": "Jane Doe"}, None],
            "year": "2020",
            "references": "9",
        },
    )
    assert (paper.id, paper.title, paper.abstract, [*map(str, paper.authors)], paper.year) == (
        "7",
        "8",
        "One.\nTwo.",
        ["Jane Doe"],
        2020,
    )
    assert paper.references == [Reference(["set:9"])]


def test_characters_that_sqlite_cannot_store_are_removed(tmp_path: Path) -> None:
    (paper,) = read(
        tmp_path, '{"id": "7", "title": "a\\u0000b\\ud800c", "abstract": "two\\nlines", "extra": {"k\\u0000": "v\\udfff"}}'
    )
    assert (paper.title, paper.abstract, paper.extra) == ("abc", "two\nlines", {"k": "v"})


def test_other_records_of_a_data_set_are_skipped(tmp_path: Path) -> None:
    assert read(tmp_path, {"id": "p", "citing": "1", "cited": ["2"], "topic_sentence": "x", "text": "y"}) == []
    assert read(tmp_path, {"id": "e", "question": "x?", "documents": ["1"], "snippets": [], "split": "dev"}) == []
    paper = {"id": "1", "title": "T", "cited": 3, "question": "a field that some paper has"}
    assert read(tmp_path, paper)[0].extra == {"cited": "3", "question": "a field that some paper has"}


def test_bad_lines_are_reported(tmp_path: Path) -> None:
    result = read(
        tmp_path, {"id": "1"}, '{"id": ', "", "[]", {"x": 1}, {"citing": "1", "cited": [], "text": "x"}, {"title": "Last"}
    )
    assert [each.line for each in problems(result)] == [2, 4, 5, 6]
    assert [each.title for each in papers(result)] == ["", "Last"]


def test_simple_lines_are_fast(tmp_path: Path) -> None:
    record = {
        "title": "word " * 10,
        "abstract": "word " * 170,
        "authors": ["Jane Doe"] * 3,
        "year": 2015,
        "venue": "V",
        "references": [],
    }
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps({"id": f"arxiv:2101.{number:05d}"} | record) + "\n" for number in range(20_000)))
    started = time.process_time()
    with Source(path) as source:
        assert sum(1 for _ in citewell_jsonl.read(source)) == 20_000
    assert 20_000 / (time.process_time() - started) > 15_000, "far below the 60,000 a second that a quiet laptop gives"


@needs_samples
@pytest.mark.realdata
@pytest.mark.parametrize(
    ("file", "count", "references"),
    [
        ("cs/papers", 27_527, 59_806),
        ("cs/contexts", 59_909, 0),
        ("cs/paragraphs", 0, 0),
        ("scifact/papers", 5_183, 0),
        ("scifact/evidence", 0, 0),
        ("scisumm/papers", 1_018, 0),
    ],
)
@pytest.mark.slow
def test_real_sets_are_read_completely(file: str, count: int, references: int) -> None:
    result = taken(citewell_jsonl, SAMPLES.parent / "data" / f"{file}.jsonl.gz")
    assert not problems(result)
    assert len(result) == count
    assert sum(len(each.references) for each in papers(result)) == references
