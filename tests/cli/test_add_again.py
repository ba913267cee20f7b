"""``citewell add`` of a file that has been edited: what it prints, and how it follows a file."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.library.library import Library

ONE = "@article{a, title = {Boats}, year = 2020}\n"
TWO = "@article{b, title = {Harbours}, year = 2020}\n"


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def refs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CITEWELL_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("CITEWELL_BACKGROUND", "off")
    path = tmp_path / "refs.bib"
    path.write_text(ONE + TWO)
    run("add", path)
    return path


def test_changes_and_missing_entries_are_told(refs: Path) -> None:
    refs.write_text(ONE.replace("2020", "2021"))
    shown = run("add", refs)
    assert "0 new, 1 already in the library or merged, 1 of them changed" in shown
    assert "The file no longer has 1 entry, which the library keeps; --sync removes such entries:\n  b: Harbours" in shown
    assert "Removed 1 entry that the file no longer has:\n  b: Harbours" in run("add", "--sync", refs)
    assert "now has 1 papers" in run("add", refs)


def test_show_names_the_sources(refs: Path) -> None:
    assert f"{refs} (a): title, year" in run("show", "a")


def test_merge_split_and_check(refs: Path) -> None:
    assert "a, b are one paper now" in run("library", "merge", "a", "b")
    assert "b is a paper of its own now" in run("library", "split", "b")
    assert "The library is sound." in run("library", "check")


def test_export_gives_the_file_back(refs: Path, tmp_path: Path) -> None:
    run("export", "-o", tmp_path / "out.bib")
    assert (tmp_path / "out.bib").read_bytes() == refs.read_bytes()
    assert "year = {2020}" in run("export", "--merged", "a")


def test_a_watched_file_is_added_whenever_it_changes(refs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "citewell", "add", "--watch", "--sync", str(refs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        while "Watching for changes" not in process.stdout.readline():
            pass
        refs.write_text(ONE)
        wait(lambda: len(Library(tmp_path / "library")) == 1)
        refs.write_text(ONE + TWO.replace("Harbours", "Tides"))
        wait(lambda: "b" in Library(tmp_path / "library"))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
        assert "Traceback" not in errors
    finally:
        process.kill()
    assert Library(tmp_path / "library").paper("b").title == "Tides"
