"""A library is readable by its owner only, unless the owner opens it."""

from __future__ import annotations

import asyncio
import io
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewell.library import Library
from citewell.papers import Paper

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_library_is_closed_to_others(tmp_path: Path) -> None:
    Library(tmp_path / "library").take([Paper("Boats")])
    assert mode(tmp_path / "library") == 0o700


def test_permissions_that_the_owner_set_stay(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    Library(folder).take([Paper("Boats")])
    folder.chmod(0o750)
    Library(folder).take([Paper("Tides")])
    assert mode(folder) == 0o750


def test_uploads_are_closed_to_others_in_a_shared_library(tmp_path: Path) -> None:
    from citewell.serve.jobs import Jobs

    folder = tmp_path / "library"
    Library(folder).take([Paper("Boats")])
    folder.chmod(0o755)
    (folder / "jobs").mkdir(0o755)
    jobs = Jobs(folder)
    jobs.lock()

    async def add() -> str:
        return await jobs.add([("a.bib", io.BytesIO(b"@article{a, title={B}}"))])

    with ThreadPoolExecutor() as thread:  # this one may run the event loop of a browser
        job = thread.submit(asyncio.run, add()).result()
    assert mode(folder / "jobs") == mode(folder / "jobs" / job) == 0o700
