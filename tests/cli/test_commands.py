"""What a user sees of the command line: real processes, real output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import demo
from citewell.cli.main import COMMANDS
from docs import commands as documented

BIB = """@article{blei2003, title={Latent {D}irichlet Allocation}, author={Blei, David and Ng, Andrew}, year=2003,
 abstract={A generative topic model of documents as mixtures of topics}}
@article{mikolov2013, title={Word vectors}, author={Mikolov, Tomas}, year={2013}, abstract={Neural embeddings of words}}
@article{broken, title={never closed
@article{last1999, title={The last topic}, author={Some One}, year={1999}}
"""


def citewell(*arguments: object, library: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CITEWELL_LIBRARY": str(library), "COLUMNS": "120"}
    command = [sys.executable, "-m", "citewell", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=check, timeout=120)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "library"
    citewell("add", demo.path("library.jsonl"), library=folder)
    return folder


def test_add_reports_what_it_added_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    done = citewell("add", tmp_path / "refs.bib", library=tmp_path / "library")
    assert "3 new" in done.stdout
    assert "refs.bib:4" in done.stderr
    again = json.loads(citewell("add", tmp_path / "refs.bib", "--json", library=tmp_path / "library").stdout)
    assert (again["papers"], again["new_papers"], again["skipped"]) == (3, 0, 1)


def test_suggest_fills_a_gap_and_gives_reasons(library: Path) -> None:
    gap = "a generative topic model that sees each document as a mixture of topics, latent Dirichlet allocation [?]"
    result = json.loads(citewell("suggest", "--context", gap, "--json", "-k", 3, library=library).stdout)
    assert result["task"] == "local"
    first = result["suggestions"][0]
    assert first["title"] == "Latent Dirichlet Allocation"
    assert {"rank", "id", "title", "authors", "year", "doi", "score", "reasons", "sentences"} <= set(first)
    abstract = json.loads(citewell("show", first["id"], "--json", library=library).stdout)["abstract"]
    assert first["sentences"][0]["text"] in abstract
    words = first["reasons"][0]
    assert words["kind"] == "words" and "dirichlet" in words["data"]


def test_suggest_for_a_draft_answers_for_the_whole_and_every_gap(library: Path) -> None:
    results = json.loads(citewell("suggest", demo.path("draft.txt"), "--json", library=library).stdout)
    answers = json.loads(demo.path("answers.json").read_text())
    assert [result["task"] for result in results] == ["global"] + ["local"] * len(answers) + ["paragraph"]
    hits = [
        set(answer["relevant"]) & {s["id"] for s in result["suggestions"]}
        for answer, result in zip(answers, results[1:-1], strict=True)
    ]
    assert all(hits), "each gap's paper is among its ten suggestions"


@pytest.mark.parametrize(("form", "begins"), [("bibtex", "@"), ("ris", "TY  - "), ("csl", "[")])
def test_suggestions_are_exported_in_formats_of_reference_managers(library: Path, form: str, begins: str) -> None:
    assert citewell("suggest", "--title", "topic models", "--format", form, library=library).stdout.startswith(begins)


def test_filters_are_applied(library: Path) -> None:
    result = json.loads(
        citewell(
            "suggest",
            "--title",
            "citation recommendation",
            "--before",
            2015,
            "--since",
            2010,
            "--exclude",
            "he2011citation",
            "--json",
            "-k",
            50,
            library=library,
        ).stdout
    )
    assert result["suggestions"]
    assert all(2010 <= s["year"] < 2015 and s["id"] != "he2011citation" for s in result["suggestions"])
    venue = json.loads(citewell("suggest", "--title", "citation", "--venue", "sigir", "--json", library=library).stdout)
    assert venue["suggestions"] and all("sigir" in s["venue"].lower() for s in venue["suggestions"])


def test_search_quotes_the_sentence(library: Path) -> None:
    result = json.loads(citewell("search", "quantum annealing of topic mixtures", "--json", library=library).stdout)
    assert result["suggestions"][0]["sentences"][0]["words"]
    assert "“" in citewell("search", "topic mixtures", library=library).stdout


def test_show_finds_a_paper_by_any_name(library: Path) -> None:
    by_key = json.loads(citewell("show", "nogueira2020evaluating", "--json", library=library).stdout)
    assert by_key["references"]
    for name in by_key["ids"]:
        assert json.loads(citewell("show", name, "--json", library=library).stdout)["title"] == by_key["title"]


def test_an_export_can_be_added_again(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    citewell("export", "--format", "jsonl", "-o", out, library=library)
    citewell("add", out, library=tmp_path / "copy")
    first, second = (
        json.loads(citewell("library", "info", "--json", library=where).stdout) for where in (library, tmp_path / "copy")
    )
    for count in ("papers", "with_abstract", "citations", "waiting", "contexts", "sentences"):
        assert first[count] == second[count], count


def test_library_info_has_the_contract_s_fields(library: Path) -> None:
    info = json.loads(citewell("library", "info", "--json", library=library).stdout)
    assert {"papers", "with_abstract", "citations", "contexts", "sentences", "segments", "bytes", "waiting"} <= set(info)
    assert info["papers"] == len(demo.path("library.jsonl").read_text().splitlines())


def test_check_and_rebuild(library: Path) -> None:
    assert json.loads(citewell("library", "check", "--json", library=library).stdout)["sound"]
    before = citewell("suggest", "--title", "citation recommendation", "--json", library=library).stdout
    citewell("library", "rebuild", library=library)
    assert citewell("suggest", "--title", "citation recommendation", "--json", library=library).stdout == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "nobody1900nothing"], "has no paper"),
        (["suggest", "--title", "x", "--pipeline", "magic"], "no pipeline"),
        (["add", "does-not-exist.bib"], "does not exist"),
        (["suggest"], "give a draft file, or --title"),
    ],
)
def test_an_error_is_one_line_with_the_fix(library: Path, arguments: list[str], says: str) -> None:
    failed = citewell(*arguments, library=library, check=False)
    assert failed.returncode != 0
    assert says in failed.stderr
    assert "Traceback" not in failed.stderr


def test_without_a_library_the_error_says_how_to_get_one(tmp_path: Path) -> None:
    failed = citewell("suggest", "--title", "x", library=tmp_path / "none", check=False)
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert "citewell add" in failed.stderr


@pytest.mark.slow
def test_every_pipeline_of_the_list_works(library: Path) -> None:
    listed = json.loads(citewell("pipelines", "--json", library=library).stdout)
    assert {"bm25", "bm25-contexts", "bm25-citing", "fast", "best"} <= {each["name"] for each in listed}
    of_families = {each["family"]: each["name"] for each in listed if "family" in each}
    assert len(of_families) == 2 and "textenh-negatives-cited-strict-after-dense" in {each["name"] for each in listed}
    for each in listed:
        if "family" in each and each["name"] != of_families[each["family"]]:
            continue  # one of each is enough
        command = ("suggest", "--title", "citation recommendation", "--pipeline", each["name"], "--json")
        done = citewell(*command, library=library, check=False)
        if done.returncode:
            # What needs vectors or a trained model says in one line how to get them.
            assert done.stderr.count("\n") == 1
            assert "citewell library encode" in done.stderr or "citewell train" in done.stderr, done.stderr
            continue
        result = json.loads(done.stdout)
        # The demo has no contexts and no vectors (a note says so), and the query has no authors.
        if each["name"].startswith(("dense-citewell", "static-citewell")) or each["name"] == "references-of-similar":
            assert not result["suggestions"] and "citewell library encode" in done.stderr
        else:
            without = ("bm25-cited", "same-authors", "references-of-same-authors")
            assert bool(result["suggestions"]) != (each["name"] in without), each["name"]


def test_pipelines_that_differ_in_a_few_choices_take_few_lines(library: Path) -> None:
    lines = citewell("pipelines", library=library).stdout.splitlines()
    assert "textcon (medic-textcon) and 65 like it, each with a recipe of its own:" in lines
    assert "  paragraph-(triplet|quadruplet|related-work)[-cls]" in lines and len(lines) < 110


def test_the_page_of_commands_is_current() -> None:
    # In a process of its own: a command caches its first help text.
    page = subprocess.run(
        [sys.executable, "-c", "from docs import commands; print(commands.page(), end='')"],
        cwd=documented.PAGE.parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert documented.PAGE.read_text("utf-8") == page, "run 'make docs'"
    assert all(f"`citewell {name}`" in page for name in COMMANDS)
