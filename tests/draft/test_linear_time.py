"""No text takes a reader quadratic time or unbounded memory, neither a reader of drafts nor one of files."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from citewell.draft import read, registry
from citewell.sources.registry import reader_names

PROGRAM = Path(__file__).parents[1] / "hostile_text.py"
FILES = [name for name in reader_names() if name != "zotero"]
"""Zotero's file is a database, which no text is."""
READERS = [*(f"draft:{name}" for name in registry.formats()), *(f"source:{name}" for name in FILES)]
MEGABYTE = 1_000_000


def slow_shapes(name: str, size: int, seconds: float, limit: int) -> tuple[list[str], int]:
    """What took longer than `seconds` of CPU time, and the most memory in MB; the whole may take `limit` seconds."""
    command = [sys.executable, str(PROGRAM), name, str(size), str(seconds)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=PROGRAM.parents[1],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    *slow, memory = done.stdout.splitlines() or ["nothing", "0"]
    assert done.returncode == 0, f"{name}: {done.returncode} after {done.stdout} {done.stderr[-500:]}"
    return slow, int(memory)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_twentieth_of_a_megabyte(name: str) -> None:
    assert slow_shapes(name, MEGABYTE // 20, 2, 100)[0] == []


@pytest.mark.campaign
@pytest.mark.parametrize("name", READERS)
def test_a_megabyte(name: str) -> None:
    slow, memory = slow_shapes(name, MEGABYTE, 30, 1000)
    assert slow == []
    assert memory < 700


def test_a_thesis_of_100_000_words_in_49_files(tmp_path: Path) -> None:
    sentence = (
        "The boats of the harbour float on water because they are lighter than it is~\\citep{berg31} and gulls like that. "
    )
    for number in range(48):
        text = "".join(
            f"\\section{{Part {part}}}\n{sentence * 8}\n\n$x_{part}$ is \\emph{{large}}. {sentence * 4}\n\n"
            for part in range(9)
        )
        (tmp_path / f"chapter{number}.tex").write_text(f"\\chapter{{Chapter {number}}}\n{text}")
    includes = "".join(f"\\include{{chapter{number}}}\n" for number in range(48))
    path = tmp_path / "thesis.tex"
    path.write_text(f"\\documentclass{{report}}\\title{{Boats}}\\begin{{document}}{includes}\\end{{document}}")
    read(path)
    begun = time.process_time()
    draft = read(path)
    taken = time.process_time() - begun
    words = sum(len(paragraph.text.split()) for paragraph in draft.paragraphs)
    assert len(draft.sources) == 49 and words > 100_000 and len(draft.citations) == 48 * 9 * 12
    assert taken < 2
