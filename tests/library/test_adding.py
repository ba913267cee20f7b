"""Adding files, folders and data sets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.library import Library, indexer
from citewell.papers import Query
from citewell.retrieve.bm25 import Bm25
from citewell.retrieve.request import Request

SHARED = Path(__file__).resolve().parents[3] / "shared"


def lines(path: Path, *records: object) -> Path:
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def data_set(folder: Path, name: str, title: str) -> Path:
    folder.mkdir()
    (folder / "set.toml").write_text(f'name = "{name}"\ntasks = ["local"]\n')
    lines(
        folder / "papers.jsonl.gz", {"id": "7", "title": title, "references": ["8"]}, {"id": "8", "title": f"Cited by {title}"}
    )
    lines(folder / "contexts.jsonl.gz", {"id": "c0", "citing": "7", "cited": ["8"], "text": "as TARGETCIT says"})
    lines(folder / "distractors.jsonl.gz", {"id": "9", "title": f"Beside {title}"})
    lines(
        folder / "paragraphs.jsonl.gz",
        {"id": "p0", "citing": "7", "cited": ["8"], "topic_sentence": "A topic.", "text": "More."},
    )
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "library")


def test_ids_of_two_data_sets_do_not_collide(library: Library, tmp_path: Path) -> None:
    library.add([data_set(tmp_path / "a", "first", "Apples"), data_set(tmp_path / "b", "second", "Pears")])
    info = library.info()
    assert (info["papers"], info["citations"], info["contexts"], info["waiting"]) == (4, 2, 2, 0)
    assert library.paper("first:7").title == "Apples"
    assert library.paper("second:7").title == "Pears"
    assert library.paper("7").title == "Apples", "the first keeps the short name"


def test_distractors_come_only_when_asked_for(library: Library, tmp_path: Path) -> None:
    folder = data_set(tmp_path / "a", "first", "Apples")
    assert library.add([folder]).papers == 2
    assert library.add([folder], distractors=True).new_papers == 1


def test_a_folder_is_read_through(library: Library, tmp_path: Path) -> None:
    inner = tmp_path / "dump" / "inner"
    inner.mkdir(parents=True)
    lines(inner / "one.txt", {"id": "x1", "title": "One"})
    lines(tmp_path / "dump" / "two.gz", {"id": "x2", "title": "Two"})
    (tmp_path / "dump" / "notes").write_text("nothing that anyone reads\n")
    (tmp_path / "dump" / "empty.bib").write_text("")
    outcome = library.add([tmp_path / "dump"])
    assert (outcome.files, outcome.papers, outcome.skipped) == (4, 2, 2)
    assert {problem.reason for problem in outcome.problems} == {"no format that citewell reads", "the file is empty"}


def test_a_bad_line_costs_one_record(library: Library, tmp_path: Path) -> None:
    path = lines(tmp_path / "papers.jsonl", {"id": "x1", "title": "One"}, {"id": "x2", "title": "Two"})
    path.write_bytes(b'{"id": "x0", "title": "Zero"}\n{broken\n' + path.read_bytes())
    outcome = library.add([path])
    assert outcome.papers == 3
    assert [(problem.file, problem.line) for problem in outcome.problems] == [(str(path), 2)]


def test_a_file_that_is_not_there_is_said_before_anything_is_done(library: Library, tmp_path: Path) -> None:
    with pytest.raises(CitewellError, match="does not exist"):
        library.add([lines(tmp_path / "one.jsonl", {"id": "x1", "title": "One"}), tmp_path / "two.jsonl"])
    assert not library.folder.exists()


def test_adding_twice_changes_nothing(library: Library, tmp_path: Path) -> None:
    folder = data_set(tmp_path / "a", "first", "Apples")
    library.add([folder])
    before = (library.info(), library.index.generation)
    library.close()
    assert library.add([folder]).new_papers == 0
    after = (library.info(), library.index.generation)
    assert {**before[0], "bytes": 0} == {**after[0], "bytes": 0}
    assert before[1] == after[1], "not even the index"


def test_the_second_process_builds_the_same_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{number % 37}" for number in range(5000)]
    records = [{"id": f"p{n}", "title": f"Paper {n}", "abstract": " ".join(words[n : n + 20 + n % 7])} for n in range(3000)]
    source = lines(tmp_path / "papers.jsonl", *records)
    alone, helped = Library(tmp_path / "alone"), Library(tmp_path / "helped")
    alone.add([source])
    monkeypatch.setattr("citewell.library.adding._BATCH_RECORDS", 200)
    monkeypatch.setattr(indexer, "_WORTH_A_WORKER", 500)
    helped.add([source])
    assert helped.info()["segments"] > alone.info()["segments"]
    assert helped.check().sound
    query = Query(title="word1 word2 word3 word4")
    one, other = (Bm25().rank(Request(library, query)) for library in (alone, helped))
    assert np.array_equal(one.papers, other.papers)
    assert np.array_equal(one.scores, other.scores)


def test_small_adds_keep_few_segments(library: Library, tmp_path: Path) -> None:
    for number in range(20):
        library.add([lines(tmp_path / "one.jsonl", {"id": f"x{number}", "title": f"Title {number}"})])
    assert library.info()["segments"] <= 5
    assert library.check().sound
    assert len(Bm25().rank(Request(library, Query(title="title"))).papers) == 20


@pytest.mark.realdata
@pytest.mark.skipif(not SHARED.exists(), reason="the real data sets are not here")
def test_the_cs_set_is_taken_whole(library: Library) -> None:
    outcome = library.add([SHARED / "data" / "cs"])
    info = library.info()
    assert (outcome.papers, outcome.skipped) == (27_527, 0)
    assert 27_525 <= info["papers"] <= 27_527, "two pairs are the same work"
    assert info["citations"] >= 59_800
    assert info["contexts"] == 59_909
    assert library.check().sound
    with gzip.open(SHARED / "data" / "cs" / "papers.jsonl.gz") as papers:
        names = [json.loads(line)["id"] for line in papers]
    assert all(library.store.find(name) is not None for name in names)
