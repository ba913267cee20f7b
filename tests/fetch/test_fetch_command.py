"""The command in a process of its own: adding, being killed, resuming, and its output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_services import ROOTS, Services

from citewell.library import Library
from citewell.library.lock import writing

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(services: Services, tmp_path: Path) -> Callable[..., list[str]]:
    def build(name: str, *arguments: str) -> list[str]:
        url = f"{services.address}/{ROOTS.get(name.replace('-', '_'), name)}"
        given = [
            sys.executable,
            "-m",
            "citewell",
            "fetch",
            name,
            *arguments,
            "--url",
            url,
            "--library",
            str(tmp_path / "library"),
        ]
        return given if name == "zotero" else [*given, "--interval", "0"]

    return build


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | {"CITEWELL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path), "S2_API_KEY": "sesame-1234"}


@pytest.fixture
def run(command: Callable[..., list[str]], environment: dict[str, str]) -> Run:
    def start(name: str, *arguments: str, **given: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command(name, *arguments), env=environment, capture_output=True, text=True, timeout=60, **given)

    return start


def test_papers_are_added_to_the_library(run: Run, tmp_path: Path) -> None:
    done = run("openalex", "boats", "--limit", "120", "--email", "me@example.org")
    assert done.returncode == 0, done.stderr
    assert (
        "120 of 250 matching papers fetched from OpenAlex: 120 new, 0 merged with known ones, 0 skipped; 2 requests"
        in done.stdout
    )
    with Library(tmp_path / "library") as library:
        assert len(library) == 120
        assert library.paper("doi:10.1000/7").title == "Boats counted, part 7"
        assert library.store.counts()["citations"] == 119
    again = run("openalex", "boats", "--limit", "120", "--json")
    result = json.loads(again.stdout)
    assert {key: result[key] for key in ("papers", "new_papers", "requests", "from_cache", "total")} == {
        "papers": 120,
        "new_papers": 0,
        "requests": 0,
        "from_cache": 2,
        "total": 250,
    }
    # Other services bring the same papers, by DOI.
    for name in ("crossref", "semantic-scholar", "pubmed"):
        result = json.loads(run(name, "--doi", "10.1000/7", "--doi", "https://doi.org/10.1000/8", "--json").stdout)
        assert (result["papers"], result["new_papers"]) == (2, 0), name


def test_a_killed_fetch_resumes(
    command: Callable[..., list[str]], environment: dict[str, str], services: Services, tmp_path: Path
) -> None:
    services.papers = 1500
    services.delay = 0.1
    given = command("openalex", "boats", "--limit", "1500")
    running = subprocess.Popen(given, env=environment, stderr=subprocess.PIPE)
    while len(services.requests) < 8:
        assert running.poll() is None, "it ended by itself"
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    answered = len(services.requests) - 1
    with Library(tmp_path / "library") as library:
        assert len(library) >= 500, "what was fetched before is in the library already"
        assert library.check().sound
    done = subprocess.run([*given, "--json"], env=environment, capture_output=True, text=True, timeout=60)
    result = json.loads(done.stdout)
    assert result["papers"] == 1500
    assert result["from_cache"] >= answered
    cursors = Counter(parameters["cursor"] for _, parameters, _ in services.requests)
    assert sum(count > 1 for count in cursors.values()) <= 1, "at most the request that was under way is made again"
    with Library(tmp_path / "library") as library:
        assert len(library) == 1500
        assert library.check().sound


def test_an_error_loses_no_earlier_pages(run: Run, services: Services, tmp_path: Path) -> None:
    services.troubles.append(lambda path, given: (400, {}, b"no more") if given.get("cursor") == "c200" else None)
    done = run("openalex", "boats", "--limit", "250")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 2, "a word on --email, and the error"
    assert "rejects the request with status 400: no more" in done.stderr
    with Library(tmp_path / "library") as library:
        assert len(library) == 200
    assert run("openalex", "boats", "--limit", "250").returncode == 0
    with Library(tmp_path / "library") as library:
        assert len(library) == 250


def test_fetch_waits_for_another_writer(
    command: Callable[..., list[str]], environment: dict[str, str], services: Services, tmp_path: Path
) -> None:
    (tmp_path / "library").mkdir()
    with writing(tmp_path / "library"):
        running = subprocess.Popen(command("openalex", "boats", "--limit", "250"), env=environment, stderr=subprocess.PIPE)
        while len(services.requests) < 3:
            assert running.poll() is None, running.communicate()[1]
            time.sleep(0.01)
        time.sleep(0.3)
        assert running.poll() is None
    _, message = running.communicate(timeout=30)
    assert running.returncode == 0, message
    with Library(tmp_path / "library") as library:
        assert len(library) == 250


def test_a_list_of_identifiers(run: Run, tmp_path: Path) -> None:
    listed = tmp_path / "dois.txt"
    listed.write_text("# my list\n10.1000/1\nhttps://doi.org/10.1000/2\n\nwhat is this\n10.1000/x\nDOI:10.1000/1\n")
    done = run("crossref", "--doi-file", str(listed))
    assert done.returncode == 0, done.stderr
    assert "2 papers fetched from Crossref: 2 new" in done.stdout
    assert "Crossref does not know doi:10.1000/x" in done.stderr
    assert "line 5 of" in done.stderr and "is not an identifier: what is this" in done.stderr
    piped = run("pubmed", "--id-file", "-", "--json", input="3\nPMID:4\n")
    assert json.loads(piped.stdout)["papers"] == 2
    unknown = run("crossref", "--doi", "10.1000/x", "--json")
    assert unknown.returncode == 1
    assert json.loads(unknown.stdout)["missing"] == ["doi:10.1000/x"]


def test_a_dry_run_adds_nothing(run: Run, services: Services, tmp_path: Path) -> None:
    done = run("arxiv", "boats", "--dry-run")
    assert done.stdout.startswith("250 papers match; the first ones:\n  Boats counted, part 0 (Mira Holt, 2020)\n")
    assert not (tmp_path / "library").exists()
    shown = json.loads(run("arxiv", "boats", "--dry-run", "--json").stdout)
    assert (shown["total"], shown["papers"][0]["id"]) == (250, "arxiv:2001.00000")
    assert len(services.requests) == 1


def test_keys_are_not_shown(run: Run, services: Services, tmp_path: Path) -> None:
    services.fail(status=403, body=b"key sesame-1234 is unknown")
    done = run("semantic-scholar", "boats")
    assert services.requests[0][2]["x-api-key"] == "sesame-1234"
    assert "sesame" not in done.stdout + done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["openalex"], "nothing to fetch; pass words to search for, --author, --doi or --doi-file"),
        (["openalex", "--doi", "10.1000/1", "--since", "2010"], "--since and --before narrow a search"),
        (["openalex", "--doi", "seven"], "'seven' is not an identifier"),
    ],
)
def test_an_invalid_request_is_one_line(arguments: list[str], message: str, run: Run, services: Services) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert services.requests == []


def test_the_database_of_zotero_is_found_in_its_usual_place(environment: dict[str, str], tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "sources"))
    from zotero_file import make

    command = [sys.executable, "-m", "citewell", "fetch", "zotero", "--library", str(tmp_path / "library")]
    missing = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert missing.returncode == 1
    assert "no Zotero database at" in missing.stderr
    (tmp_path / "Zotero").mkdir()
    running = make(tmp_path / "Zotero" / "zotero.sqlite", "wal")
    done = subprocess.run([*command, "--collection", "Small ones"], env=environment, capture_output=True, text=True)
    assert "2 papers fetched from Zotero: 2 new, 0 merged with known ones, 0 skipped\n" in done.stdout
    given = [*command, str(tmp_path / "Zotero"), "--json"]
    result = json.loads(subprocess.run(given, env=environment, capture_output=True, text=True).stdout)
    assert (result["papers"], result["new_papers"], result["skipped"]) == (6, 4, 1)
    looked = subprocess.run([*given, "--dry-run"], env=environment, capture_output=True, text=True)
    assert len(json.loads(looked.stdout)["papers"]) == 6
    running.close()


def test_a_running_zotero(run: Run, services: Services, tmp_path: Path) -> None:
    done = run("zotero", "--api", "--json")
    result = json.loads(done.stdout)
    assert (result["papers"], result["skipped"]) == (250, 0), "249 without the attachment, and one of the group's"
    assert services.requests[0][2]["zotero-api-version"] == "3"
    with Library(tmp_path / "library") as library:
        paper = library.paper("holt4")
        assert (paper.title, paper.date, paper.venue) == ("Boats counted, part 4", "2011-05-17", "Journal of Harbours")
        assert paper.extra["collections"] == "Boats/Small ones"
    for given, papers in ((["--collection", "boats"], 4), (["--collection", "Boats/Small ones", "--tag", "boats"], 1)):
        assert json.loads(run("zotero", "--api", *given, "--json").stdout)["papers"] == papers
    assert (
        "no collection called 'Fish'; its collections: Boats, Boats/Small ones, Gulls"
        in run("zotero", "--api", "--collection", "Fish").stderr
    )
    services.fail(status=403)
    assert "Zotero does not accept requests" in run("zotero", "--api").stderr
    services.close()
    assert "Zotero is not running at http://127.0.0.1" in run("zotero", "--api").stderr
