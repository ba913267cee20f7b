"""A run for BioASQ from questions to scores: real processes on a tiny library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import citewell

PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"
ABSTRACT = "Gulls are mistaken for boats. Boats move.  We tell gulls and boats apart by the wings of gulls."
PAPERS: list[dict[str, Any]] = [
    {"id": "pmid:11", "title": "Gulls as a source of error", "abstract": ABSTRACT, "year": 2017},
    {"id": "tides", "title": "Tides move the boats", "abstract": "Boats move with the tides.", "year": 2019},
    {"id": "pmid:13", "title": "Crabs", "abstract": "Crabs walk sideways.", "year": 2020},
]
QUESTIONS = {
    "questions": [
        {"id": "q1", "type": "list", "body": "Which birds, such as gulls, are mistaken for boats?"},
        {"id": "q2", "type": "yesno", "body": "Do crabs walk sideways?"},
    ]
}
GOLDEN = {
    "questions": [
        {
            **QUESTIONS["questions"][0],
            "documents": [f"{PUBMED}11"],
            "snippets": [
                {
                    "document": f"{PUBMED}11",
                    "text": ABSTRACT[:29],
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 29,
                    "beginSection": "abstract",
                    "endSection": "abstract",
                }
            ],
        },
        {**QUESTIONS["questions"][1], "documents": [f"{PUBMED}13"], "snippets": []},
    ]
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    papers = tmp_path / "papers.jsonl"
    papers.write_text("".join(json.dumps(paper) + "\n" for paper in PAPERS))
    citewell("add", papers, library=tmp_path / "library")
    return tmp_path / "library"


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_questions_become_a_run_and_the_run_is_scored(library: Path, tmp_path: Path) -> None:
    questions, gold = written(tmp_path / "questions.json", QUESTIONS), written(tmp_path / "gold.json", GOLDEN)
    out = tmp_path / "runs" / "run.json"
    done = citewell("bioasq", "answer", questions, "--pipeline", "bm25", "--out", out, library=library)
    assert done.stdout == f"questions answered: 2, written to {out}\n"
    assert done.stderr.count("\n") == 1 and "papers without a PubMed id in the run: 1;" in done.stderr
    first, second = json.loads(out.read_text())["questions"]
    assert {name: first[name] for name in ("id", "type", "body")} == QUESTIONS["questions"][0]
    assert first["documents"] == [f"{PUBMED}11", "tides"]
    assert second["documents"] == [f"{PUBMED}13"]
    texts = {f"{PUBMED}11": ABSTRACT, "tides": PAPERS[1]["abstract"], f"{PUBMED}13": PAPERS[2]["abstract"]}
    for snippet in first["snippets"] + second["snippets"]:
        assert snippet["beginSection"] == snippet["endSection"] == "abstract"
        begin, end = snippet["offsetInBeginSection"], snippet["offsetInEndSection"]
        assert texts[snippet["document"]][begin:end] == snippet["text"]
    assert [len(first["snippets"]), len(second["snippets"])] == [4, 1]

    scores = json.loads(citewell("bioasq", "score", out, gold, "--json", library=library).stdout)
    assert (scores["questions"], scores["missing"]) == (2, 0)
    assert scores["documents"]["MAP"] == 1.0
    assert scores["documents"]["MAP/10"] == pytest.approx(0.1)
    assert scores["documents"]["precision"] == 0.75
    assert scores["snippets"]["recall"] == 1.0, "of the one question that has golden snippets"
    table = citewell("bioasq", "score", out, gold, library=library).stdout
    assert [line.split()[0] for line in table.splitlines()] == [
        "questions:",
        "measure",
        *("precision", "recall", "F1", "MAP", "GMAP", "MAP/10", "GMAP/10", "MAP-program", "GMAP-program"),
    ]
    assert ["MAP", "1.0000", "1.0000"] in [line.split() for line in table.splitlines()]


def test_fewer_answers_and_questions_without_one(library: Path, tmp_path: Path) -> None:
    questions = written(tmp_path / "questions.json", {"questions": QUESTIONS["questions"][:1]})
    out = tmp_path / "run.json"
    citewell("bioasq", "answer", questions, "--pipeline", "bm25", "--out", out, "-k", 1, library=library)
    (answer,) = json.loads(out.read_text())["questions"]
    assert answer["documents"] == [f"{PUBMED}11"]
    assert len(answer["snippets"]) == 1
    done = citewell("bioasq", "score", out, written(tmp_path / "gold.json", GOLDEN), "--json", library=library)
    assert "1 of 2; they count as zero" in done.stderr
    assert json.loads(done.stdout)["documents"]["recall"] == 0.5


def test_an_error_is_one_line_and_the_older_run_stays(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    out.write_text("an older run")
    broken = tmp_path / "broken.json"
    broken.write_text('{"questions": [{"body": "no id"')
    for arguments in (("answer", broken, "--out", out), ("score", out, broken)):
        failed = citewell("bioasq", *arguments, library=library, check=False)
        assert failed.returncode == 1
        assert failed.stderr.count("\n") == 1 and "it should look like" in failed.stderr
    questions = written(tmp_path / "questions.json", QUESTIONS)
    nowhere = citewell("bioasq", "answer", questions, "--out", out, library=tmp_path / "nowhere", check=False)
    assert nowhere.returncode == 1 and nowhere.stderr.count("\n") == 1
    assert out.read_text() == "an older run"
