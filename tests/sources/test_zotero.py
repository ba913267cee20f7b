"""Zotero's database: which items are read, also while Zotero writes."""

from __future__ import annotations

import gzip
import random
import shutil
import sqlite3
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from reading import papers, problems, taken
from zotero_file import add, better_bibtex, make

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Name, Paper, Problem
from citewell.sources import InputError, zotero
from citewell.sources.zotero import collection_paths, items
from citewell.text.names import parse_all


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "zotero.sqlite"
    make(path).close()
    return path


def by_title(path: Path, **given: str) -> dict[str, Paper]:
    return {paper.title: paper for paper in items(path, **given) if isinstance(paper, Paper)}


def test_items_become_papers(file: Path) -> None:
    records = by_title(file)
    assert records["Counting boats in the harbour"] == Paper(
        title="Counting boats in the harbour",
        abstract="We count boats from photographs.",
        authors=parse_all(["Mira Holt", "Jon Pike"]),
        year=2015,
        date="2015-05-17",
        venue="Journal of Harbours",
        ids=["doi:10.1000/harbour", "pmid:123", "pmcid:456", "zotero:ITEM0001"],
        keywords=["boats", "photography"],
        extra={
            "type": "article-journal",
            "volume": "3",
            "pages": "1-9",
            "url": "https://example.org/harbour",
            "collections": "Boats; Boats/Small ones",
            "note": "Read twice",
        },
        people={"editor": [Name("Ed", "Itor")]},
    )
    assert records["Gulls as a source of error"].venue == "Proceedings of the Gull Workshop"
    assert records["Gulls as a source of error"].extra["citekey"] == "reis2017pinned"
    assert ([*map(str, records["Piers"].authors)], records["Piers"].year, records["Piers"].date) == (["Pier Society"], 2001, "")
    assert (records["Tides"].ids, records["Tides"].date) == (["arxiv:2001.00007", "zotero:ITEM0004"], "2020-01")
    assert ([*map(str, records["A talk"].authors)], records["A talk"].year) == (["Lee Moss"], None)
    assert "The group's paper" in records


def test_attachments_notes_and_deleted_items_are_left_out(file: Path) -> None:
    records = taken(zotero, file)
    assert {paper.title for paper in papers(records)} == {
        *("Counting boats in the harbour", "Gulls as a source of error", "Piers", "Tides", "A talk", "The group's paper")
    }
    assert [problem.reason for problem in problems(records)] == ["item ITEM0010 has no title"]


def test_collections_and_tags(file: Path) -> None:
    assert set(by_title(file, collection="boats")) == {"Counting boats in the harbour", "Gulls as a source of error"}
    assert set(by_title(file, collection="Boats/Small ones", tag="Boats")) == {"Counting boats in the harbour"}
    assert by_title(file, tag="fish") == {}
    for name in ("Fish", "In the bin"):
        with pytest.raises(CitewellError, match=f"no collection called '{name}'; its collections: Boats, Boats/Small ones"):
            by_title(file, collection=name)


def test_cyclic_collections_are_left_out() -> None:
    rows: list[tuple[int, int | None, str]] = [(1, None, "a"), (2, 1, "b"), (3, 4, "c"), (4, 3, "d"), (5, 9, "e")]
    assert collection_paths(rows) == {1: "a", 2: "a/b"}


def test_citation_keys_of_better_bibtex(file: Path) -> None:
    better_bibtex(file.with_name("better-bibtex.sqlite"), {1: "holt2015counting", 2: "reis2017", 5: "moss"})
    records = by_title(file)
    assert records["Counting boats in the harbour"].extra["citekey"] == "holt2015counting"
    assert records["Gulls as a source of error"].extra["citekey"] == "reis2017pinned", "what is pinned counts"
    assert records["A talk"].id == "moss", "a paper without an identifier goes by its key"
    file.with_name("better-bibtex.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    damaged = list(items(file))
    assert "better-bibtex.sqlite cannot be read" in problems(damaged)[0].reason
    assert len(papers(damaged)) == 6


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_locked_database_is_read(journal: str, tmp_path: Path) -> None:
    path = tmp_path / "zotero.sqlite"
    running = make(path, journal)
    running.execute("PRAGMA locking_mode = EXCLUSIVE")
    add(running, 50, {"type": "journalArticle", "title": "Written last"})
    running.execute("BEGIN IMMEDIATE")
    running.execute("INSERT INTO deletedItems (itemID) VALUES (50)")
    # A change so large that it does not fit into memory and is in the file before it is committed.
    running.execute("PRAGMA cache_size = 5")
    running.execute("UPDATE itemDataValues SET value = 'Not yet' WHERE value = 'Piers'")
    running.executemany("INSERT INTO itemDataValues (value) VALUES (?)", [(f"{n} {'x' * 500}",) for n in range(500)])
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0).execute("SELECT count(*) FROM items").fetchone()
    before = [sha256(each.read_bytes()).hexdigest() for each in sorted(tmp_path.iterdir())]
    records = by_title(path)
    assert {"Written last", "Piers"} <= records.keys(), "what is committed is there, what is not is not"
    assert "Not yet" not in records
    assert [sha256(each.read_bytes()).hexdigest() for each in sorted(tmp_path.iterdir())] == before, "nothing is touched"
    running.execute("COMMIT")
    assert "Written last" not in by_title(path)
    assert "Not yet" in by_title(path)
    running.close()


def test_other_databases_are_rejected(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(InputError, match="an SQLite file, but not a Zotero database"):
        list(items(other))
    outcome = Library(tmp_path / "library").add([other])
    assert "not a Zotero database" in outcome.problems[0].reason


def test_a_damaged_database_is_one_line(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"damaged|cannot be read"):
        list(items(file))
    file.write_bytes(bytes(data[:3000]))
    with pytest.raises(InputError, match=r"damaged|cannot be read"):
        list(items(file))


def test_any_damage_gives_papers_or_one_line(file: Path) -> None:
    whole = file.read_bytes()
    chance = random.Random(5)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50))):
            data[chance.randrange(16, len(data))] = chance.randrange(256)
        file.write_bytes(data)
        with suppress(InputError):
            assert all(isinstance(record, Paper | Problem) for record in items(file))


def test_adding_it_like_any_other_file(file: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    outcome = library.add([file])
    assert (outcome.papers, outcome.new_papers, outcome.skipped) == (6, 6, 1)
    assert library.paper("reis2017pinned").title == "Gulls as a source of error"
    assert library.add([file]).new_papers == 0
    packed = tmp_path / "zotero.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert Library(tmp_path / "other").add([packed]).papers == 6


def test_only_the_database_of_the_zotero_folder_is_read(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "Zotero"
    (folder / "storage" / "ABCD").mkdir(parents=True)
    (folder / "storage" / "ABCD" / "refs.bib").write_text("@article{x, title={Not mine}}")
    shutil.copy(file, folder / "zotero.sqlite")
    shutil.copy(file, folder / "zotero.sqlite.1.bak")
    outcome = Library(tmp_path / "library").add([folder])
    assert (outcome.files, outcome.papers) == (1, 6)


def test_an_edited_item_stays_one_paper(file: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.add([file])
    with sqlite3.connect(file) as db:
        db.execute("UPDATE itemDataValues SET value = 'Piers and jetties' WHERE value = 'Piers'")
    db.close()
    assert library.add([file]).new_papers == 0
