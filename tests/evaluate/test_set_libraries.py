"""The libraries of sets: built once, by one process at a time, completely or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.small_set import small_set

SHARED = Path(__file__).parents[3] / "shared" / "data"


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "citewell", "evaluate", str(folder), "--task", "local", "--pipeline", "bm25-contexts", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def figures(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    values = json.loads(out)["pipelines"]["bm25-contexts"]
    del values["seconds_per_query"]
    return dict(values)


def test_two_evaluations_at_once_build_one_library(tmp_path: Path, cache: Path) -> None:
    folder = small_set(60).write(tmp_path / "set")
    one, other = start(folder), start(folder)
    assert figures(one) == figures(other)
    assert len([path for path in (cache / "sets").iterdir() if path.is_dir()]) == 1


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.3])
@pytest.mark.slow
def test_an_evaluation_killed_while_building_starts_again(tmp_path: Path, cache: Path, wait: float) -> None:
    folder = small_set(120).write(tmp_path / "set")
    killed = start(folder)
    until = time.monotonic() + 60
    while not list(cache.glob("sets/*.building")) and killed.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(wait)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    again = figures(start(folder))
    assert not list(cache.glob("sets/*.building"))
    assert again == figures(start(folder))


@pytest.mark.realdata
@pytest.mark.skipif(not (SHARED / "cs").exists(), reason="needs ../shared/data/cs")
@pytest.mark.slow
def test_minimum_figures_on_real_contexts() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "citewell", "evaluate", str(SHARED / "cs"), "--task", "local", "--sample", "400"),
            *("--pipeline", "bm25", "--pipeline", "bm25-contexts", "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    values = json.loads(done.stdout)["pipelines"]
    # Two standard errors of a sample of 400 below what the whole split gives.
    assert values["bm25"]["R@10"] > 0.23
    assert values["bm25-contexts"]["R@10"] > 0.45
    assert values["bm25"]["seconds_per_query"] < 0.03
