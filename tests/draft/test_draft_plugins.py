"""Draft readers of other packages, found by their entry points."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from citewell.draft import detect_format, parse, read
from citewell.draft.registry import formats
from citewell.errors import CitewellError

READER = """
from citewell.papers import Citation, Draft, Place

def matches(source):
    return source.suffix == ".adoc"

def read(source):
    text = source.text
    at = text.index("@?")
    gap = Citation(text.replace("@?", "TARGETCIT"), Place("", at, at + 2))
    return Draft(title=text.partition("\\n")[0].strip("= "), citations=[gap], sources={"": text})
"""
BROKEN = "def matches(source):\n    return source.suffix == '.bad'\ndef read(source):\n    raise KeyError('lost')\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a reader for AsciiDoc, one that fails, and one that cannot be imported."""
    folder = tmp_path / "installed"
    metadata = folder / "asciidoc_drafts-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "asciidoc_drafts.py").write_text(READER)
    (folder / "asciidoc_broken.py").write_text(BROKEN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: asciidoc-drafts\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[citewell.drafts]\nasciidoc = asciidoc_drafts\nbad = asciidoc_broken\nabsent = asciidoc_absent\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{Path(__file__).parents[2]}")
    return folder


def test_the_built_in_readers_are_registered_the_same_way() -> None:
    assert {"docx", "latex", "markdown", "text"} <= set(formats())
    assert detect_format("Plain words.") == "text"
    with pytest.raises(CitewellError, match="no draft format 'wordperfect'; choose one of docx"):
        parse("Text", "wordperfect")


def test_a_reader_of_another_package(package: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "paper.adoc"
    path.write_text("= On Trees\nTrees grow @?.")
    with caplog.at_level(logging.WARNING):
        draft = read(path)
    assert (draft.format, draft.title, len(draft.gaps)) == ("asciidoc", "On Trees", 1)
    assert [record.getMessage().count("\n") for record in caplog.records] == [0] and "asciidoc-drafts" in caplog.text


def test_a_reader_that_fails_gets_one_line(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "paper.bad"
    path.write_text("Anything.")
    monkeypatch.setenv("CITEWELL_LIBRARY", str(tmp_path / "none"))
    command = [sys.executable, "-m", "citewell", "check", str(path), "--no-suggestions"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "the draft format 'bad' of the package asciidoc-drafts does not work (KeyError: 'lost')" in done.stderr
