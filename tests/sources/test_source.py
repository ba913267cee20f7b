"""Hostile and truncated files: one error line, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from citewell.library import Library
from citewell.papers import Problem
from citewell.sources import InputError, Source
from citewell.sources.source import MAX_LINE_BYTES

PAPER = json.dumps({"id": "one", "title": "One", "authors": [], "year": 2001}).encode() + b"\n"
MEGABYTE = bytes(1 << 20)


def test_lines_are_numbered_and_trimmed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one\r\ntwo\n\nthree")
    with Source(tmp_path / "file") as source:
        assert list(source.lines()) == [(1, b"one"), (2, b"two"), (3, b""), (4, b"three")]


def test_a_line_without_end_is_a_problem_and_the_next_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * (3 * MAX_LINE_BYTES) + b"\nafter\n")
    with Source(tmp_path / "file") as source:
        (_, long), after = source.lines()
        assert isinstance(long, Problem)
        assert after == (2, b"after")


def test_records_before_the_end_of_a_truncated_gzip_are_read(tmp_path: Path) -> None:
    whole = gzip.compress(PAPER * 50_000, mtime=0)
    (tmp_path / "papers.gz").write_bytes(whole[: len(whole) // 2])
    outcome = Library(tmp_path / "library").add([tmp_path / "papers.gz"])
    assert outcome.papers > 1000
    assert "truncated" in outcome.problems[-1].reason


def test_a_damaged_gzip_is_reported(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(PAPER * 1000))
    content[20:40] = b"\x00" * 20
    (tmp_path / "papers.gz").write_bytes(content)
    outcome = Library(tmp_path / "library").add([tmp_path / "papers.gz"])
    assert outcome.skipped == 1
    assert "damaged" in outcome.problems[0].reason or "no format" in outcome.problems[0].reason


def bomb(path: Path, megabytes: int) -> Path:
    with gzip.open(path, "wb", compresslevel=9) as out:
        out.write(PAPER)
        for _ in range(megabytes):
            out.write(MEGABYTE)
    return path


def test_a_gzip_bomb_is_rejected(tmp_path: Path) -> None:
    with Source(bomb(tmp_path / "bomb.gz", 100)) as source, pytest.raises(InputError, match="bomb"):
        list(source.lines())


@pytest.mark.slow
def test_hostile_files_stay_in_bounded_memory(tmp_path: Path) -> None:
    """A bomb, a gigabyte in one line (sparse on disk), and an entity bomb, added by a process that may use little memory."""
    bomb(tmp_path / "bomb.gz", 120)
    line = tmp_path / "line.jsonl"
    line.write_bytes(PAPER + b'{"id": "two", "title": "')
    with line.open("r+b") as out:
        out.truncate(1 << 30)
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    (tmp_path / "laughs.xml").write_text(
        f'<!DOCTYPE x [<!ENTITY l0 "lol">{laughs}]><collection id="P16"><volume id="1"><paper id="1"><title>&l11;</title>'
        "</paper></volume></collection>"
    )
    limit = 1 << 30
    added = subprocess.run(
        [sys.executable, "-m", "citewell", "add", str(tmp_path), "--json", "--library", str(tmp_path / ".library")],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    assert added.returncode == 0, added.stderr
    outcome = json.loads(added.stdout)
    assert outcome["papers"] == 2
    assert outcome["skipped"] >= 3
    assert "Traceback" not in added.stderr
