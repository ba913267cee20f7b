"""BioASQ's training file as a data set: made-up questions of its documented shape, on made-up PubMed records."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.bioasq_snippets import Located, Span, locate
from citewell.evaluate.bioasq_training import TrainingSnippet, read_training
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.sets import DataSet
from citewell.library import Library

PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"
ABSTRACT = "Gulls are mistaken for boats. Boats move at sea. Wings tell gulls and boats apart."
"""Sentences at 0 to 29, 30 to 48 and 49 to 82."""


def record(pmid: int, title: str, abstract: str) -> str:
    text = f"<Abstract><AbstractText>{abstract}</AbstractText></Abstract>" if abstract else ""
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><ArticleTitle>{title}</ArticleTitle>{text}"
        f"</Article></MedlineCitation></PubmedArticle>"
    )


RECORDS = [
    record(11, "Gulls as a source of error.", ABSTRACT),
    record(12, "Tides", "Tides turn. The moon pulls them."),
    record(13, "Fog and gulls", ""),
    *(record(20 + at, f"Crab number {at}", f"Crab number {at} walks. It walks sideways.") for at in range(6)),
    record(11, "Gulls as a source of error.", "An older version."),
]


def snippet(pmid: int, text: str, begin: int = 0, section: str = "abstract", end: int | None = None) -> dict[str, Any]:
    return {
        "document": f"{PUBMED}{pmid}",
        "text": text,
        "offsetInBeginSection": begin,
        "offsetInEndSection": begin + len(text) if end is None else end,
        "beginSection": section,
        "endSection": section,
    }


def question(number: int, documents: list[int], *snippets: dict[str, Any]) -> dict[str, Any]:
    urls = [f"{PUBMED}{pmid}" for pmid in documents]
    body = f"Is question {number} about crabs or gulls?"
    ideal = ["An answer that nobody reads here."]
    return {
        "id": f"q{number}",
        "body": body,
        "type": "yesno",
        "documents": urls,
        "snippets": list(snippets),
        "ideal_answer": ideal,
    }


QUESTIONS: list[Any] = [
    question(0, [11], snippet(11, ABSTRACT[30:48], 30), snippet(11, "WINGS tell Gulls, and boats apart", 400)),
    question(1, [11, 13], snippet(11, "Gulls as a source of error", 0, "title"), snippet(13, "Fog and gulls", 0, "title")),
    question(2, [12, 99], snippet(99, "Unknown."), snippet(12, "Not in the paper at all."), {"document": f"{PUBMED}12"}),
    question(3, [99]),
    {"id": "broken", "documents": "no list"},
    {"id": "empty", "body": " "},
    question(0, [12]),
    *(question(4 + at, [20 + at], snippet(20 + at, f"Crab number {at} walks.", 0, "sections.0")) for at in range(4)),
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "pubmed.xml.gz", "wt") as out:
        out.write(f"<PubmedArticleSet>{''.join(RECORDS)}</PubmedArticleSet>")
    (tmp_path / "training.json").write_text(json.dumps({"questions": QUESTIONS}))
    golden = {"questions": [question(50, [24], snippet(24, "It walks sideways.", 21)), question(4, [20])]}
    (tmp_path / "8B1_golden.json").write_text(json.dumps(golden))
    return tmp_path


def made(files: Path, *options: str) -> tuple[dict[str, Any], DataSet]:
    arguments = ["set", "from-bioasq", str(files / "training.json"), str(files / "set"), *options, "--json"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    return json.loads(done.stdout), DataSet.open(files / "set")


def test_questions_and_snippets_become_evidence(files: Path) -> None:
    figures, dataset = made(files, "--papers", str(files / "pubmed.xml.gz"), "--dev", "1")
    papers = {paper.id: paper for paper in dataset.papers()}
    assert list(papers) == ["pmid:11", "pmid:12", *(f"pmid:{20 + at}" for at in range(6))]
    assert [each.text for each in papers["pmid:11"].sentences] == [
        "Gulls as a source of error",
        *(ABSTRACT[begin:end] for begin, end in ((0, 29), (30, 48), (49, 82))),
    ]
    evidence = {str(each.id): each for each in dataset.evidence()}
    snippets = {name: [(each.paper, each.sentences) for each in record.snippets or ()] for name, record in evidence.items()}
    assert snippets["q0"] == [("pmid:11", [2, 3])], "one by its offsets, one by its letters"
    assert snippets["q1"] == [("pmid:11", [0])], "the title"
    assert snippets["q2"] == [] and evidence["q2"].documents == ["pmid:12"]
    assert {name: each.split for name, each in evidence.items()} == {
        **dict.fromkeys(("q0", "q1", "q2", "q4", "q5"), "train"),
        "q6": "dev",
        "q7": "test",
    }
    assert figures["questions"] == {"train": 5, "dev": 1, "test": 1} and figures["documents"] == 7
    assert figures["snippets"] == {"offsets": 6, "text": 1}
    assert figures["left_out"] == {
        "relevant papers that have only a title": 1,
        "further records of the same paper": 1,
        "relevant papers that the collection lacks, or has without an abstract": 3,
        "snippets of papers that are not in the set": 2,
        "snippets whose text is not in the paper": 1,
        "questions without a paper in the collection": 1,
    }
    where = str(files / "training.json")
    reasons = [line.removeprefix(f"{where}: ") for line in figures["problems"]]
    assert [reason.partition(":")[0] for reason in reasons] == [
        "question 3 (q2), snippet 3",
        "question 5",
        "question 6 (empty)",
        "question 7 (q0)",
    ]
    assert all("\n" not in line and line.endswith("; it was skipped") for line in figures["problems"])
    assert Evaluation(files / "set", "evidence").report(["bm25"]).experiment.outcomes[0].mean("sentences:AP-BioASQ") > 0


def test_golden_files_are_for_test_and_a_library_is_a_collection(files: Path) -> None:
    with Library(files / "library") as library:
        library.add([files / "pubmed.xml.gz"])
    golden = str(files / "8B1_golden.json")
    figures, dataset = made(files, "--library", str(files / "library"), "--test", golden, "--dev", "2", "--with-titles-only")
    evidence = {str(each.id): each for each in dataset.evidence()}
    assert [name for name, each in evidence.items() if each.split == "test"] == ["q50", "q4"]
    assert {each.kind for each in evidence.values() if each.split == "test"} == {"8B1_golden"}
    assert [name for name, each in evidence.items() if each.split == "dev"] == ["q6", "q7"]
    assert figures["left_out"]["questions of the training file that a test file has"] == 1
    assert "pmid:13" in evidence["q1"].documents, "it has only a title"
    assert len(Evaluation(files / "set", "evidence", kind="8B1_golden").queries()) == 2


def test_listed_questions_and_a_share_of_the_other_papers(files: Path) -> None:
    (files / "dev.txt").write_text("q0\nq4\n")
    (files / "test.txt").write_text("q5")
    listed = ("--dev-ids", str(files / "dev.txt"), "--test-ids", str(files / "test.txt"), "--others", "0")
    figures, _ = made(files, "--papers", str(files / "pubmed.xml.gz"), "--dev", "1", *listed)
    assert figures["questions"] == {"train": 4, "dev": 2, "test": 1}
    assert figures["papers"] == figures["relevant_papers"] == 6
    assert figures["left_out"]["other papers that were not drawn"] == 2
    shutil.rmtree(files / "set")
    (files / "dev.txt").write_text("q99")
    with pytest.raises(CitewellError, match="no question 'q99', which is listed"):
        made(files, "--papers", str(files / "pubmed.xml.gz"), *listed)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not a file of BioASQ"), ('{"questions": []}', "too few to hold out"), ("[]", "should look like")],
)
def test_unusable_files_are_one_line_errors(files: Path, content: str, message: str) -> None:
    (files / "training.json").write_text(content)
    with pytest.raises(CitewellError, match=message) as failed:
        made(files, "--papers", str(files / "pubmed.xml.gz"))
    assert "\n" not in str(failed.value) and not (files / "set").exists()


def test_a_collection_without_the_papers_is_an_error(files: Path) -> None:
    (files / "pubmed.xml.gz").write_bytes(
        gzip.compress(f"<PubmedArticleSet>{record(77, 'X', 'Y.')}</PubmedArticleSet>".encode())
    )
    with pytest.raises(CitewellError, match="citewell fetch gets them"):
        made(files, "--papers", str(files / "pubmed.xml.gz"), "--dev", "1")
    with pytest.raises(CitewellError, match="either --library DIR or --papers FILE"):
        made(files)


TEXTS = {"title": "Gulls", "abstract": ABSTRACT}
SPANS = [Span("title", 0, 5), Span("abstract", 0, 29), Span("abstract", 30, 48), Span("abstract", 49, 82)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (snippet(1, ABSTRACT[0:48]), Located([1, 2], "offsets")),
        (snippet(1, ABSTRACT[20:48], 20), Located([2], "offsets")),
        (snippet(1, "gulls", 0, "title"), Located([0], "offsets")),
        (snippet(1, "Boats", 30), Located([2], "offsets")),
        (snippet(1, "", 49, end=60), Located([3], "offsets")),
        (snippet(1, "Boats  move at sea", 3), Located([2], "text")),
        (snippet(1, ABSTRACT[0:29], 0, "title"), Located([1], "text")),
        (snippet(1, "Boats move at sea", 0, "sections.4"), Located([2], "text")),
        (snippet(1, "Fog"), None),
        (snippet(1, "...", 500), None),
    ],
)
def test_snippets_are_located(given: dict[str, Any], expected: Located | None, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"questions": [{"id": "1", "body": "Why?", "snippets": [given]}]}))
    (read,) = read_training(file).questions
    assert isinstance(read.snippets[0], TrainingSnippet)
    assert locate(read.snippets[0], TEXTS, SPANS) == expected
