"""Vectors in the background: one process per library, every paper gets its vector, and a kill costs one chunk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from filelock import FileLock

from citewell.cli.main import cli
from citewell.library import Library
from citewell.library.vectors import background, status
from citewell.library.vectors.background import encode_in_background, keep_up
from citewell.library.vectors.status import EncodingProgress, VectorStatus, follow, vector_status
from citewell.models import encoder
from citewell.papers import Paper
from tests.library.records import RecordedProgress
from tests.library.vectors.test_vectors import Letters, add, agree

SLOW = """
import sys, time
sys.path.insert(0, {root!r})
from citewell.library.vectors import background
from citewell.library.vectors import encode as encoding
from citewell.library.vectors import status
from citewell.models import encoder
from tests.library.vectors.test_vectors import Letters

class Slow(Letters):
    def encode(self, texts):
        time.sleep(0.1)
        return super().encode(texts)

encoding.CHUNK = 10
status.DEFAULT_VECTORS = (("letters", "own"),)
encoder.available, encoder.load = lambda name: True, lambda name: Slow()
sys.argv[1:] = [{library!r}]
background.main()
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(status, "DEFAULT_VECTORS", (("letters", "own"),))
    monkeypatch.setattr(encoder, "available", lambda name: True)
    monkeypatch.setattr(encoder, "load", lambda name: Letters())
    library = Library(tmp_path / "library")
    add(library, [{"id": f"p{at}", "title": f"boat {at}"} for at in range(200)])
    return library


@contextmanager
def working(library: Library) -> Iterator[subprocess.Popen[bytes]]:
    """The real process, with a slow encoder."""
    script = SLOW.format(root=str(Path(__file__).parents[3]), library=str(library.folder))
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def the_status(library: Library) -> VectorStatus:
    (only,) = vector_status(library)
    return only


def test_progress_is_reported_and_a_kill_costs_one_chunk(library: Library) -> None:
    assert the_status(library) == VectorStatus("letters", "own", 0, 200, complete=False, at_work=False)
    with working(library) as process:
        wait(lambda: the_status(library).papers >= 50)
        now = the_status(library)
        assert now.at_work and not now.complete and 0 < (now.seconds_left or 0) < 60
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    progress = status.read_progress(library, "letters", "own")
    assert progress is not None and (progress.pid, progress.total) == (process.pid, 200)
    done = the_status(library).papers
    assert 50 <= done < 200 and done - progress.done in (0, 10)
    assert the_status(library) == VectorStatus("letters", "own", done, 200, complete=False, at_work=False)
    assert keep_up(library) == 200 - done
    assert the_status(library) == VectorStatus("letters", "own", 200, 200, complete=True, at_work=False)
    agree(library)


def test_a_watcher_sees_all_progress(library: Library) -> None:
    progress = RecordedProgress()
    with working(library) as process:
        wait(lambda: the_status(library).at_work)
        follow(library, "letters", "own", progress)
        assert process.wait(60) == 0
    assert progress.calls[0] == ("start", "encoding with letters", 200, "papers")
    assert 100 < int(str(progress.calls[-1][1])) <= 200
    assert the_status(library).complete


def test_encode_by_hand_waits_for_the_one_at_work(library: Library) -> None:
    with working(library):
        wait(lambda: the_status(library).at_work)
        command = ["library", "encode", "--encoder", "letters", "--library", str(library.folder)]
        done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert "another process is already computing these vectors" in done.stderr
    assert done.stdout == "0 papers encoded; 200 have letters vectors (title and abstract)\n"


def test_a_second_process_stops_while_one_is_at_work(library: Library) -> None:
    (library.folder / "vectors").mkdir()
    with FileLock(library.folder / "vectors" / "background.lock"):
        assert keep_up(Library(library.folder)) == 0
    assert keep_up(library) == 200


def test_papers_added_during_encoding_are_encoded(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Letters):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            if len(texts) == 200:
                Library(library.folder).take([Paper(id="late", title="a late boat")])
            return super().encode(texts)

    monkeypatch.setattr(encoder, "load", lambda name: Interrupted())
    assert keep_up(library) == 201
    agree(library)


def test_papers_added_at_the_very_end_are_encoded(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[int] = []

    def and_then_more(library: Library, name: str, text: str) -> int:
        made = status.encode_with_progress(library, name, text)
        if not seconds:
            # All vectors are computed, but this process still has the lock: the second one stops at once.
            other = Library(library.folder)
            other.take([Paper(id="last", title="the last boat")])
            seconds.append(keep_up(other))
        return made

    monkeypatch.setattr(background, "encode_with_progress", and_then_more)
    assert (keep_up(library), seconds) == (201, [0])
    agree(library)


def test_earlier_vectors_do_not_count_for_the_estimate(library: Library) -> None:
    now = time.time()
    assert EncodingProgress(1, now, now, 100, 200).seconds_left() is None
    assert EncodingProgress(1, now, now, 100, 200, pace=0.5).seconds_left() == pytest.approx(50, abs=1)
    assert EncodingProgress(1, now, now - 1000, 100, 200, pace=0.5).seconds_left() == 0
    keep_up(library)
    library.rebuild()
    keep_up(library)
    again = status.read_progress(library, "letters", "own")
    assert again is not None and (again.done, again.pace) == (200, 0)


def test_no_process_is_started_without_work_or_encoder(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append(options))
    assert not encode_in_background(library), "the tests switch it off"
    monkeypatch.setenv("CITEWELL_BACKGROUND", "on")
    monkeypatch.setattr(encoder, "available", lambda name: False)
    assert not encode_in_background(library) and vector_status(library) == []
    monkeypatch.setattr(encoder, "available", lambda name: True)
    assert encode_in_background(library) and len(started) == 1
    assert started[0]["start_new_session"], "it stays when the terminal goes"
    keep_up(library)
    assert not encode_in_background(library) and len(started) == 1


def test_adding_from_python_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_BACKGROUND", "on")
    monkeypatch.setattr(encoder, "available", lambda name: True)
    library = Library(tmp_path / "library")
    library.take([Paper(id="boat", title="A boat")])
    assert not (library.folder / "vectors").exists()


def test_vectors_that_are_not_updated_automatically_are_listed_too(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_up(library)
    monkeypatch.setattr(status, "DEFAULT_VECTORS", ())
    assert the_status(library) == VectorStatus("letters", "own", 200, 200, complete=True, at_work=False)
