"""Adding files, folders and data sets."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.library.index import indexer
from citewell.library.store.intake import Intake
from citewell.papers import Query
from citewell.ranking.request import Request
from citewell.retrieve.bm25 import BM25
from citewell.sources.unreadable import UNKNOWN
from tests.library.records import RecordedProgress

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


def test_distractors_are_added_only_on_request(library: Library, tmp_path: Path) -> None:
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
    assert {problem.reason for problem in outcome.problems} == {UNKNOWN, "the file is empty"}


def test_a_bad_line_costs_one_record(library: Library, tmp_path: Path) -> None:
    path = lines(tmp_path / "papers.jsonl", {"id": "x1", "title": "One"}, {"id": "x2", "title": "Two"})
    path.write_bytes(b'{"id": "x0", "title": "Zero"}\n{broken\n' + path.read_bytes())
    outcome = library.add([path])
    assert outcome.papers == 3
    assert [(problem.file, problem.line) for problem in outcome.problems] == [(str(path), 2)]


def test_a_missing_file_is_reported_before_anything_is_added(library: Library, tmp_path: Path) -> None:
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
    monkeypatch.setattr("citewell.library.add._BATCH_RECORDS", 200)
    monkeypatch.setattr(indexer, "_WORTH_A_WORKER", 500)
    helped.add([source])
    assert helped.info()["segments"] > alone.info()["segments"]
    assert helped.check().sound
    query = Query(title="word1 word2 word3 word4")
    one, other = (BM25().retrieve(Request(LocalCollection(library), query)) for library in (alone, helped))
    assert np.array_equal(one.papers, other.papers)
    assert np.array_equal(one.scores, other.scores)


def test_small_adds_keep_few_segments(library: Library, tmp_path: Path) -> None:
    for number in range(20):
        library.add([lines(tmp_path / "one.jsonl", {"id": f"x{number}", "title": f"Title {number}"})])
    assert library.info()["segments"] <= 5
    assert library.check().sound
    assert len(BM25().retrieve(Request(LocalCollection(library), Query(title="title"))).papers) == 20


@pytest.mark.realdata
@pytest.mark.skipif(not SHARED.exists(), reason="the real data sets are not here")
@pytest.mark.slow
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


def test_progress_reports_the_bytes_read_and_the_papers_indexed(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.library.add._BATCH_RECORDS", 2)
    one = lines(tmp_path / "one.jsonl", *({"id": f"a{number}", "title": f"A{number}"} for number in range(5)))
    two = lines(tmp_path / "two.jsonl.gz", {"id": "b", "title": "B"})
    progress = RecordedProgress()
    library.add([one, two], progress)
    sizes = one.stat().st_size, two.stat().st_size
    assert progress.calls[0] == ("start", "reading 2 files", sum(sizes), "bytes")
    done = [int(str(call[1])) for call in progress.calls if call[0] == "update"]
    assert len(done) == 4 and done == sorted(done) and done[-2:] == [sizes[0], sum(sizes)]
    assert progress.calls[-2:] == [("start", "indexing", 6, "papers"), ("advance", 6)]


def test_an_interrupted_add_continues_after_the_last_commit(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.library.add._BATCH_RECORDS", 10)
    path = tmp_path / "papers.jsonl.gz"
    lines(path, *({"id": f"p{number}", "title": f"Title {number}"} for number in range(35)))

    class Stopper(RecordedProgress):
        def update(self, done: int, total: int | None = None) -> None:
            super().update(done, total)
            if len(self.calls) == 3:  # the start of the step, and two batches
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.add([path], Stopper())
    assert len(library) == 20
    taken: list[int] = []
    real = Intake.take
    monkeypatch.setattr(
        Intake,
        "take",
        lambda self, batch, *more, **settings: taken.append(len(batch)) or real(self, batch, *more, **settings),
    )
    outcome = library.add([path])
    assert taken == [10, 5], "twenty were there"
    assert (outcome.papers, outcome.new_papers, len(library)) == (35, 15, 35)
    assert library.store.db.execute("SELECT count(*) FROM imports").fetchone() == (0,)


def test_another_file_of_the_same_name_is_not_taken_for_the_interrupted_one(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.library.add._BATCH_RECORDS", 2)
    path = lines(tmp_path / "papers.jsonl", *({"id": f"p{number}", "title": f"Title {number}"} for number in range(4)))

    class Stopper(RecordedProgress):
        def update(self, done: int, total: int | None = None) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.add([path], Stopper())
    lines(path, *({"id": f"q{number}", "title": f"Title {number}"} for number in range(4)))
    library.add([path])
    assert sorted(paper.id for paper in library.store.each()) == ["p0", "p1", "q0", "q1", "q2", "q3"]


def test_every_record_that_is_not_taken_is_counted_and_a_thousand_are_listed(library: Library, tmp_path: Path) -> None:
    path = lines(tmp_path / "papers.jsonl", {"id": "x", "title": "Good"})
    path.write_bytes(path.read_bytes() + b"{broken\n" * 1500)
    outcome = library.add([path])
    assert (outcome.papers, outcome.skipped, len(outcome.problems)) == (1, 1500, 1000)
    assert outcome.problems[0].line == 2


def test_a_gzip_that_ends_too_early_gives_what_it_has(library: Library, tmp_path: Path) -> None:
    chance = random.Random(1)
    records = [{"id": f"p{n}", "title": f"Title {n}", "abstract": str(chance.random())} for n in range(5000)]
    path = lines(tmp_path / "papers.jsonl.gz", *records)
    path.write_bytes(path.read_bytes()[:-2000])
    outcome = library.add([path])
    assert 0 < outcome.papers < 5000 and outcome.skipped == 1
    assert "gzip" in outcome.problems[0].reason
    assert len(library) == outcome.papers


def test_anything_but_a_file_is_skipped(library: Library, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "a.jsonl").symlink_to(tmp_path / "nowhere")
    (dump / "b.jsonl").symlink_to(dump / "b.jsonl")
    os.mkfifo(dump / "c.jsonl")
    lines(dump / "d.jsonl", {"id": "x", "title": "Good"})
    outcome = library.add([dump])
    assert (outcome.papers, outcome.skipped) == (1, 3)


@pytest.mark.parametrize("text", ["", "name = ", "title = 'no name'"])
def test_a_data_set_without_a_name_is_one_line(library: Library, tmp_path: Path, text: str) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "set.toml").write_text(text)
    with pytest.raises(CitewellError, match=r"set\.toml"):
        library.add([tmp_path / "set"])


@pytest.mark.parametrize("name", ["id", "key", "title", "record", "doi", "a:b", "ünï"])
def test_a_data_set_may_have_any_name(library: Library, tmp_path: Path, name: str) -> None:
    library.add([lines(tmp_path / "7.jsonl", {"id": "7", "title": "Another seven", "authors": []})])
    library.add([data_set(tmp_path / "set", name, "Apples")])
    library.add([data_set(tmp_path / "other", "other", "Pears")])
    info = library.info()
    assert (info["papers"], info["citations"], info["contexts"], info["waiting"]) == (5, 2, 2, 0)
    assert library.check().sound


def test_folders_may_disappear_while_their_size_is_computed(tmp_path: Path) -> None:
    """As the folders of a server's jobs do."""
    with Library(tmp_path / "library") as library:
        library.take([])
        stop = threading.Event()

        def come_and_go() -> None:
            while not stop.is_set():
                for number in range(20):
                    (library.folder / f"job{number}").mkdir()
                for number in range(20):
                    (library.folder / f"job{number}").rmdir()

        others = threading.Thread(target=come_and_go)
        others.start()
        try:
            assert all(library.info()["bytes"] > 0 for _ in range(300))
        finally:
            stop.set()
            others.join()
