"""A process that adds papers is killed, for real, at random moments."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.library import Library
from citewell.library.index import indexer

KILLS = int(os.environ.get("CITEWELL_KILLS", "10"))
PAPERS = 3000

# The real add, with batches so small that it commits, indexes, merges and starts its worker many times a second.
SMALL = """
import sys
from citewell.library import Library
from citewell.library import add as adding
from citewell.library.index import indexer
adding._BATCH_RECORDS = 40
indexer._WORTH_A_WORKER = 300
indexer._STACK_HEIGHT = 2
"""
DRIVER = f"{SMALL}Library(sys.argv[1]).add(sys.argv[2:])"


def contents(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """The contents of a library, without its internal numbers."""
    with Library(folder) as library:
        db = library.store.db
        return {
            "papers": sorted(db.execute("SELECT id, title, abstract, year FROM papers")),
            "citations": sorted(
                db.execute(
                    "SELECT a.id, b.id FROM citations JOIN papers AS a ON a.num = citing JOIN papers AS b ON b.num = cited"
                )
            ),
            "waiting": sorted(db.execute("SELECT key, id FROM waiting JOIN papers ON num = citing")),
            "contexts": sorted(db.execute("SELECT contexts.id, text FROM contexts")),
            "indexed": [tuple(len(library.index.listed(name)) for name in ("own", "cited", "citing"))],
        }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "papers.jsonl"
    chance = random.Random(7)
    words = [f"word{number}" for number in range(500)]
    with path.open("w") as out:
        for number in range(PAPERS):
            paper = {
                "id": f"p{number}",
                "title": f"Paper {number} on {chance.choice(words)}",
                "abstract": " ".join(chance.choices(words, k=40)),
                "authors": ["Ada Author"],
                "year": 2000 + number % 20,
                "references": [f"p{chance.randrange(PAPERS + 100)}" for _ in range(3)],
            }
            out.write(json.dumps(paper) + "\n")
            if number % 3 == 0:
                cited = f"p{chance.randrange(PAPERS)}"
                context = {"id": f"c{number}", "citing": f"p{number}", "cited": [cited], "text": "as TARGETCIT says"}
                out.write(json.dumps(context) + "\n")
    return path


def start(folder: Path, source: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(folder), str(source)], start_new_session=True)


def committed(folder: Path) -> set[str]:
    try:
        with Library(folder) as library:
            return {name for (name,) in library.store.db.execute("SELECT id FROM papers")}
    except Exception:  # the store is not there yet
        return set()


@pytest.mark.slow
def test_nothing_committed_is_lost(source: Path, tmp_path: Path) -> None:
    undisturbed = tmp_path / "undisturbed"
    begun = time.monotonic()
    assert start(undisturbed, source).wait() == 0
    duration = time.monotonic() - begun
    expected = contents(undisturbed)
    assert len(expected["papers"]) == PAPERS
    chance = random.Random(os.environ.get("CITEWELL_KILL_SEED", "1"))
    folder = tmp_path / "killed"
    kills = 0
    for _ in range(10 * KILLS):
        if kills == KILLS:
            break
        adding = start(folder, source)
        time.sleep(chance.uniform(0.05, 0.7) * duration)
        before = committed(folder)
        # Its worker process runs on until it sends its next result.
        os.kill(adding.pid, signal.SIGKILL)
        killed = adding.wait() == -signal.SIGKILL
        if not before:
            continue
        verdict = Library(folder).check()
        assert verdict.sound, verdict
        assert before <= committed(folder)
        if killed:
            kills += 1
        else:
            assert contents(folder) == expected
            shutil.rmtree(folder)
    assert kills == KILLS
    assert start(folder, source).wait() == 0
    assert Library(folder).check().sound
    assert contents(folder) == expected


def test_an_interrupted_add_resumes_where_it_stopped(source: Path, tmp_path: Path) -> None:
    adding = start(tmp_path / "library", source)
    while len(committed(tmp_path / "library")) < 400:
        assert adding.poll() is None, "it ended by itself"
        time.sleep(0.02)
    os.kill(adding.pid, signal.SIGKILL)
    adding.wait()
    with Library(tmp_path / "library") as library:
        ((records,),) = library.store.db.execute("SELECT records FROM imports")
        known = len(library)
    assert records >= 400
    outcome = Library(tmp_path / "library").add([source])
    assert outcome.papers == PAPERS, "the whole file is accounted for"
    assert outcome.new_papers == PAPERS - known


def test_an_interrupt_at_the_keyboard_is_one_line(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    # Tests that run in the background inherit that SIGINT is ignored; at a keyboard it is not.
    restore = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = f"{restore}{SMALL}from citewell.cli.main import main; main()"
    adding = subprocess.Popen(
        [sys.executable, "-c", command, "add", str(source), "--library", str(folder)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    while adding.poll() is None and len(committed(folder)) < 800:
        time.sleep(0.01)
    os.killpg(adding.pid, signal.SIGINT)
    _, message = adding.communicate(timeout=30)
    assert adding.returncode == 130
    assert message.strip() == "citewell: interrupted; committed papers stay in the library"
    assert Library(folder).check().sound


def kill_at(step: int, folder: Path, action: Callable[[Library], object]) -> bool:
    """Run `action` on a library in a child process that is killed at this step in the file system; whether it was killed."""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event in ("open", "os.rename", "os.remove", "os.mkdir") and str(folder) in str(arguments[0]):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        action(Library(folder))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("action", ["add", "remove", "rebuild"])
@pytest.mark.slow
def test_killed_at_every_step_of_a_small_change(
    action: str, tiny: Library, tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "_STACK_HEIGHT", 2)
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "piers", "title": "A theory of piers", "authors": ["Mira Holt"], "year": 2001}\n')
    tiny.remove(["review"])
    tiny.add([tiny_file])
    assert len(list(tiny.folder.glob("index/own-*"))) == 2, "the next segment has them merged"
    tiny.close()
    actions: dict[str, Callable[[Library], object]] = {
        "add": lambda library: library.add([more]),
        "remove": lambda library: library.remove(["harbour"]),
        "rebuild": lambda library: library.rebuild(),
    }
    actions[action](library := Library(shutil.copytree(tiny.folder, tmp_path / "done")))
    library.add([tiny_file, more])
    expected = contents(library.folder)
    for step in range(200):
        folder = tmp_path / f"killed {step}"
        shutil.copytree(tiny.folder, folder)
        killed = kill_at(step, folder, actions[action])
        verdict = Library(folder).check()
        assert verdict.sound, (step, verdict)
        Library(folder).add([tiny_file, more])
        assert contents(folder) == expected, step
        assert Library(folder).check().sound
        if not killed:
            break
    assert step > 10
