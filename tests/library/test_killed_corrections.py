"""An add of an edited file that is killed at any moment: the next one ends in the library that is built afresh."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citewell.library.library import Library
from tests.library.test_corrections import described, entry, written

KILLS = 50
DRIVER = """
import os, signal, sys, threading, time
from citewell.library.add import Adding
from citewell.library.index.indexer import Indexer
from citewell.library.library import Library
from citewell.library.store.intake import Intake

def kill():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
Library(sys.argv[2]).add(sys.argv[3:], sync=True)
"""


def edited(path: Path, choose: random.Random) -> Path:
    """A file with some entries that others share identifiers and titles with."""
    entries = []
    for number in choose.sample(range(300), 150):
        doi = choose.choice(["", f"10.1000/{number // 2}"])
        title = f"Boats of harbour {choose.choice([number, number // 3])}"
        entries.append(entry(f"{path.stem}{number}", title, choose.choice([2019, 2020]), doi=doi))
    return written(path, *entries)


@pytest.mark.slow
def test_an_add_that_is_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    choose = random.Random(1)
    files = [tmp_path / "one.bib", tmp_path / "two.bib"]
    library = Library(tmp_path / "library")
    killed = 0
    for _ in range(KILLS):
        for file in files:
            edited(file, choose)
        command = [sys.executable, "-c", DRIVER, str(choose.uniform(0, 0.35)), str(library.folder), *map(str, files)]
        killed += subprocess.run(command).returncode == -signal.SIGKILL
        library.reload()
    assert killed > KILLS // 2
    library.add(files, sync=True)
    fresh = Library(tmp_path / "fresh")
    fresh.add(files)
    assert library.check().sound and described(library) == described(fresh)
