"""Full disks, truncated files and missing permissions: one clear line each, and committed papers stay readable."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Query
from citewell.pipeline.api import suggest
from citewell.text import analysis


def write(path: Path, papers: int, words: int = 30, first: int = 0) -> Path:
    with path.open("w") as out:
        for number in range(first, first + papers):
            abstract = " ".join(f"word{(number * step) % 997}" for step in range(1, words))
            out.write(
                json.dumps({"id": f"p{number}", "title": f"Paper number{number}", "abstract": abstract, "year": 2001}) + "\n"
            )
    return path


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.add([write(tmp_path / "papers.jsonl", 300)])
    return library


def citewell(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "citewell", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


def segment(library: Library) -> Path:
    return next((library.folder / "index").glob("own-*.seg"))


def test_a_second_writer_gets_the_process_that_has_the_lock(library: Library, tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from citewell.library.lock import writing; from pathlib import Path\n"
            "with writing(Path(sys.argv[1])): print('locked', flush=True); time.sleep(60)",
            str(library.folder),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        refused = citewell("add", tmp_path / "papers.jsonl", "--library", library.folder)
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert f"process {holder.pid}" in refused.stderr
        assert suggest(library, Query(title="number7")), "readers do not wait"
    finally:
        holder.kill()
        holder.wait()
    assert citewell("add", tmp_path / "papers.jsonl", "--library", library.folder).returncode == 0, (
        "the lock died with its holder"
    )


def test_a_truncated_segment_is_named_and_mended(library: Library) -> None:
    path = segment(library)
    path.write_bytes(path.read_bytes()[:100])
    answer = citewell("suggest", "--title", "number7", "--library", library.folder)
    assert answer.returncode == 0
    assert path.name in answer.stderr and "rebuild" in answer.stderr and "Traceback" not in answer.stderr
    checked = citewell("library", "check", "--library", library.folder)
    assert checked.returncode == 1 and path.name in checked.stdout and "rebuild" in checked.stdout
    library.rebuild()
    assert library.check().sound
    assert suggest(library, Query(title="number7"))


def test_check_detects_a_flipped_byte(library: Library) -> None:
    path = segment(library)
    content = bytearray(path.read_bytes())
    content[-20] ^= 0xFF
    path.write_bytes(content)
    assert any("checksum" in line for line in library.check().index)
    library.rebuild()
    assert library.check().sound


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 99}'])
def test_a_damaged_manifest_is_mended(library: Library, content: bytes) -> None:
    (library.folder / "index" / "manifest.json").write_bytes(content)
    answer = citewell("suggest", "--title", "number7", "--library", library.folder)
    assert answer.returncode == 1 and "rebuild" in answer.stderr and answer.stderr.count("\n") == 1
    assert citewell("show", "p7", "--library", library.folder).returncode == 0, "the store needs no index"
    library.rebuild()
    assert library.check().sound


@pytest.mark.parametrize("lost", ["index", "index/manifest.json"])
def test_a_missing_index_is_reported_and_rebuilt(library: Library, tmp_path: Path, lost: str) -> None:
    subprocess.run(["rm", "-r", str(library.folder / lost)], check=True)
    answer = citewell("suggest", "--title", "number7", "--library", library.folder)
    assert answer.returncode == 0 and answer.stderr.count("\n") == 1 and "rebuild" in answer.stderr
    assert any("missing" in line for line in library.check().index)
    library.add([write(tmp_path / "one.jsonl", 1, first=9000)])
    assert library.check().sound, "a writer that finds no index builds it again"
    assert suggest(library, Query(title="number7"))


def damaged_stack(library: Library, folder: Path) -> Path:
    """A segment that the next add will merge with others."""
    for number in range(3):
        library.add([write(folder / "one.jsonl", 1, first=9000 + number)])
    segments = sorted((library.folder / "index").glob("own-*.seg"), key=lambda path: path.stat().st_mtime)
    assert len(segments) == 4
    return segments[-1]


def test_a_damaged_segment_stops_no_reader_and_costs_no_paper(library: Library, tmp_path: Path) -> None:
    path = damaged_stack(library, tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    added = citewell("add", write(tmp_path / "one.jsonl", 1, first=9900), "--library", library.folder)
    assert added.returncode == 1 and added.stderr.count("\n") == 1
    assert path.name in added.stderr and "rebuild" in added.stderr
    assert len(library) == 304, "the paper is in the store"
    assert citewell("suggest", "--title", "number7", "--library", library.folder).returncode == 0
    library.rebuild()
    assert library.check().sound
    assert suggest(library, Query(title="number9900"))


def test_a_flipped_byte_is_not_merged_into_a_segment_that_looks_whole(library: Library, tmp_path: Path) -> None:
    path = damaged_stack(library, tmp_path)
    content = bytearray(path.read_bytes())
    content[-20] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CitewellError, match=r"checksum.*rebuild"):
        library.add([write(tmp_path / "one.jsonl", 1, first=9900)])
    library.rebuild()
    assert library.check().sound


@pytest.mark.parametrize("command", [["library", "info"], ["library", "check"], ["show", "p7"], ["add", "papers.jsonl"]])
def test_a_store_that_is_no_database_is_one_line(command: list[str], tmp_path: Path) -> None:
    write(tmp_path / "papers.jsonl", 1)
    (tmp_path / "library.sqlite").write_bytes(b"not a database" * 1000)
    failed = citewell(*command, "--library", tmp_path, cwd=tmp_path)
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1
    assert "library.sqlite" in failed.stderr or str(tmp_path) in failed.stderr


def test_a_store_with_blank_pages_is_reported_as_damaged(library: Library) -> None:
    last_root = library.store.db.execute("SELECT max(rootpage) FROM sqlite_schema").fetchone()[0]
    library.close()
    path = library.folder / "library.sqlite"
    content = bytearray(path.read_bytes())
    for page in range(4096 * last_root, len(content) - 4096, 4096 * 2):  # the schema stays readable
        content[page : page + 4096] = bytes(4096)
    path.write_bytes(content)
    checked = citewell("library", "check", "--library", library.folder)
    assert checked.returncode == 1 and not checked.stderr
    assert "store damaged: SQLite" in checked.stdout and "backup" in checked.stdout
    for command in (["show", "p7"], ["suggest", "--title", "number7"], ["library", "rebuild"]):
        answer = citewell(*command, "--library", library.folder)
        assert "Traceback" not in answer.stderr and answer.stderr.count("\n") <= 1


def test_a_library_killed_during_its_creation_can_be_created_again(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.sqlite").touch()
    checked = citewell("library", "check", "--library", tmp_path / "library")
    assert checked.returncode == 1 and "there is no library in" in checked.stderr
    library = Library(tmp_path / "library")
    library.add([write(tmp_path / "papers.jsonl", 3)])
    assert library.check().sound and len(library) == 3


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def read_only(library: Library) -> Iterator[Path]:
    """The library's folder on a file system that cannot be written to."""
    folder = str(library.folder)
    mount("--bind", folder, folder)
    mount("-o", "remount,ro,bind", folder)
    yield library.folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_read_only_folder_can_be_read_but_not_written(read_only: Path, tmp_path: Path) -> None:
    read = citewell("suggest", "--title", "number7", "--library", read_only)
    assert read.returncode == 0, read.stderr
    assert "number7" in read.stdout
    assert citewell("library", "check", "--library", read_only).returncode == 0
    written = citewell("add", tmp_path / "papers.jsonl", "--library", read_only)
    assert written.returncode == 1 and written.stderr.count("\n") == 1
    assert "cannot write" in written.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_reads_what_a_killed_writer_has_committed(library: Library, tmp_path: Path) -> None:
    """The last commit is still in SQLite's log, and the reader may not write to the folder."""
    folder = Path(tempfile.mkdtemp())
    subprocess.run(["cp", "-r", f"{library.folder}/.", str(folder)], check=True)
    killed = (
        "import os, sys; from pathlib import Path; from citewell.library.store import schema\n"
        "db = schema.create(Path(sys.argv[1])); db.execute(\"UPDATE papers SET venue = 'In the log'\"); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", killed, str(folder)])
    assert (folder / "library.sqlite-wal").stat().st_size
    folder.chmod(0o755)
    try:
        shown, suggested, removed = as_a_stranger(
            ["show", "p7"], ["suggest", "--title", "number7"], ["library", "remove", "p7"], library=folder, known=library.folder
        )
        assert shown.startswith("0\n") and "In the log" in shown
        assert suggested.startswith("0\n") and "number7" in suggested
        assert removed.startswith("1\n") and "cannot write" in removed and removed.count("\n") == 1
        assert Library(folder).check().sound and len(Library(folder)) == 300
    finally:
        shutil.rmtree(folder)


def as_a_stranger(*commands: list[str], library: Path, known: Path) -> list[str]:
    """Exit status and output of commands run by a user without permissions.

    That user may not be able to read our Python; so each command is run on a `known` library first, to load what it needs.
    """
    driver = """
import contextlib, io, json, os, sys
from click.testing import CliRunner
from citewell.cli.main import cli
from citewell.errors import CitewellError

def run(command, library):
    done = CliRunner().invoke(cli, [*command, "--library", library])
    return f"{done.exit_code}\\n" + (str(done.exception) if isinstance(done.exception, CitewellError) else done.output)

commands, library, known = json.loads(sys.argv[1])
for command in commands:
    run(command, known)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(json.dumps([run(command, library) for command in commands]))
"""
    arguments = json.dumps([commands, str(library), str(known)])
    done = subprocess.run([sys.executable, "-c", driver, arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    folder = small_disk / "library"
    assert citewell("add", write(tmp_path / "few.jsonl", 300), "--library", folder).returncode == 0
    many = write(tmp_path / "many.jsonl", 20_000, 100, first=1000)
    full = citewell("add", many, "--library", folder)
    assert full.returncode == 1
    assert full.stderr.count("\n") == 1 and "full" in full.stderr, full.stderr
    assert citewell("suggest", "--title", "number7", "--library", folder).returncode == 0
    checked = citewell("library", "check", "--library", folder)
    assert checked.returncode == 0, checked.stdout
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    assert citewell("add", many, "--library", folder).returncode == 0
    assert len(Library(folder)) == 20_300
    assert Library(folder).check().sound


def test_readers_see_the_last_commit_while_a_writer_is_at_work(library: Library, tmp_path: Path) -> None:
    more = write(tmp_path / "more.jsonl", 20_000, first=1000)
    adding = subprocess.Popen(
        [sys.executable, "-m", "citewell", "add", str(more), "--library", str(library.folder)], stdout=subprocess.DEVNULL
    )
    seen = []
    while adding.poll() is None:
        with Library(library.folder) as reader:
            assert suggest(reader, Query(title="number7"))[0].paper.id == "p7"
            seen.append(len(reader))
            assert reader.check().sound
        time.sleep(0.01)
    assert adding.returncode == 0
    assert seen == sorted(seen) and seen[0] >= 300
    assert len(Library(library.folder)) == 20_300


def test_nothing_is_removed_when_a_paper_is_unknown(library: Library) -> None:
    with pytest.raises(CitewellError, match="nothing was removed"):
        library.remove(["p1", "nobody"])
    assert len(library) == 300


def test_an_index_of_an_older_version_is_built_again_by_the_next_add(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.add([write(tmp_path / "one.jsonl", 1)])
    manifest = tmp_path / "library" / "index" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(analysis.VERSION, "english-1"))
    library.reload()
    with pytest.raises(CitewellError, match="another version of citewell; run 'citewell library rebuild'"):
        len(library.index.blocks)
    library.add([write(tmp_path / "two.jsonl", 1, first=1)])
    assert sorted(library.index.listed("own").tolist()) == [1, 2]
    assert library.check().sound


def test_a_database_whose_making_was_interrupted_is_no_library_and_becomes_one(tmp_path: Path) -> None:
    making, folder = tmp_path / "making.sqlite", tmp_path / "library"
    folder.mkdir()
    with closing(sqlite3.connect(making, isolation_level=None)) as db:
        db.execute("VACUUM")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("CREATE TABLE half (made)")
        db.executemany("INSERT INTO half VALUES (?)", (["x" * 4000] for _ in range(100)))
        # What a power cut now leaves: pages in the database that its journal has to undo.
        shutil.copy(making, folder / "library.sqlite")
        shutil.copy(f"{making}-journal", folder / "library.sqlite-journal")
    with pytest.raises(CitewellError, match="there is no library"):
        Library(folder).check()
    library = Library(folder)
    library.add([write(tmp_path / "one.jsonl", 2)])
    assert len(library) == 2 and library.check().sound
