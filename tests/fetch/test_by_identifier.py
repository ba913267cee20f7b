"""``citewell add`` with identifiers, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_services import ROOTS, Services

from citewell.fetch.by_identifier import identifier
from citewell.library import Library

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(services: Services, tmp_path: Path) -> Run:
    addresses = {f"CITEWELL_{name.upper()}_URL": f"{services.address}/{root}" for name, root in ROOTS.items()}

    def start(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | addresses | {"CITEWELL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)} | variables
        command = [sys.executable, "-m", "citewell", "add", *arguments, "--no-vectors", "--library", str(tmp_path / "library")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)

    return start


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.1000/xyz", "doi:10.1000/xyz"),
        ("doi:10.1000/XYZ", "doi:10.1000/xyz"),
        ("https://doi.org/10.1000/xyz", "doi:10.1000/xyz"),
        ("https://publisher.example/article/10.1000/xyz/full?a=b", "doi:10.1000/xyz"),
        ("arXiv:1706.03762v2", "arxiv:1706.03762"),
        ("1706.03762", "arxiv:1706.03762"),
        ("https://arxiv.org/abs/1706.03762", "arxiv:1706.03762"),
        ("pmid:123", "pmid:123"),
        ("https://pubmed.ncbi.nlm.nih.gov/123/", "pmid:123"),
        ("PMC123", None),
        ("pmc:123", "pmcid:123"),
        ("refs.bib", None),
        ("https://example.org/paper", None),
        ("dblp:conf/a/b", None),
    ],
)
def test_what_an_identifier_is(text: str, expected: str | None) -> None:
    assert identifier(text) == expected


def test_papers_are_fetched_from_the_service_of_each_scheme(run: Run, services: Services, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{a, title={Boats}, year=2001}")
    done = run("refs.bib", "10.1000/7", "arXiv:2001.00008", "--json")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["files"], outcome["identifiers"], outcome["papers"], outcome["new_papers"]) == (1, 2, 3, 3)
    assert {path.split("/")[1] for path, _, _ in services.requests} == {"crossref", "arxiv"}
    with Library(tmp_path / "library") as library:
        assert library.paper("doi:10.1000/7").title == "Boats counted, part 7"
        assert len(library) == 3


def test_the_report_names_identifiers(run: Run) -> None:
    assert "1 papers read from 1 identifier: 1 new" in run("10.1000/7").stdout


def test_an_unknown_identifier_is_listed_and_fails(run: Run, services: Services) -> None:
    done = run("10.1000/99999")
    assert done.returncode == 1
    assert "skipped doi:10.1000/99999: not known to Crossref and OpenAlex; check the identifier" in done.stderr
    assert {path.split("/")[1] for path, _, _ in services.requests} == {"crossref", "openalex"}


def test_offline_is_one_line_that_says_what_to_do(run: Run) -> None:
    done = run("10.1000/7", CITEWELL_CROSSREF_URL="http://127.0.0.1:9")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "doi:10.1000/7 cannot be fetched: Crossref at http://127.0.0.1:9 cannot be reached" in last
    assert "connect to the internet and run the command again, or export the papers as RIS or BibTeX" in last
    assert "Traceback" not in done.stderr


def test_what_is_neither_a_path_nor_an_identifier(run: Run) -> None:
    assert "nothing.bib does not exist, and is no identifier" in run("nothing.bib").stderr
    assert "has no DOI, arXiv id or PMID in it" in run("https://example.org/paper").stderr
