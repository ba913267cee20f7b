"""A small study, and a server for it in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from citewell.judgements import JudgedText
from citewell.user_study.study import Settings, Study, StudyContext, StudyPaper

ROOT = Path(__file__).parents[3]
SYSTEMS = ["secret-lexical", "secret-dense", "secret-hybrid"]
RANKINGS = [
    (["a", "b", "c"], ["d", "a", "e"], ["a", "d", "b"]),
    (["f", "g", "h"], ["g", "i", "j"], ["g", "f", "i"]),
    (["k", "a", "l"], ["m", "b", "f"], ["b", "k", "m"]),
    (["c", "d", "e"], ["e", "l", "m"], ["e", "c", "l"]),
]


def make_study(folder: Path, judges: list[str] | None = None) -> Study:
    """Four contexts, three systems with three papers each."""
    settings = Settings("harbours", "local", 3, 11, SYSTEMS, SYSTEMS[:2], judges=judges or [])
    contexts = [
        StudyContext(
            f"c{number}",
            JudgedText(
                "local",
                "Gulls and other sources of error",
                "We review how birds disturb counts.",
                f"Counts of boats ({number}) are known to be wrong TARGETCIT when birds fly OTHERCIT, as <b>all</b> agree.",
            ),
            dict(zip(SYSTEMS, rankings, strict=True)),
        )
        for number, rankings in enumerate(RANKINGS, 1)
    ]
    names = sorted({paper for rankings in RANKINGS for ranking in rankings for paper in ranking})
    papers = {
        name: StudyPaper(
            name, f"Paper {name} <i>on</i> boats", f"Abstract of {name}.", ["Mira Holt", "Jon Pike"], 2015, "Harbours"
        )
        for name in names
    }
    papers["m"] = StudyPaper("m", "Paper m on boats")
    study = Study(folder, settings, contexts, papers)
    study.write()
    return study


@dataclass
class Served:
    """A running server of a study."""

    process: subprocess.Popen[bytes]
    url: str
    client: httpx.Client


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    """Start a server, and stop it in any case."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "citewell", "study", "serve", str(folder), "--no-open", "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            yield Served(process, url, client)
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()
