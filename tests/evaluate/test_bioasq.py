"""BioASQ's files, and its measures against values computed by hand and against their definition."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.errors import CitewellError
from citewell.evaluate.bioasq import Question, Snippet, read, read_questions, write
from citewell.evaluate.bioasq_measures import QuestionScores, score, score_documents, score_snippets

PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"
TEST_FILE = {"questions": [{"id": "5e2", "type": "list", "body": "Which birds are mistaken for boats?"}]}
GOLDEN: dict[str, Any] = {
    "questions": [
        {
            "body": "Which birds are mistaken for boats?",
            "concepts": ["http://www.disease-ontology.org/api/metadata/DOID:10487"],
            "documents": [f"{PUBMED}11", f"{PUBMED}12", f"{PUBMED}13"],
            "exact_answer": [["gulls", "seagulls"]],
            "ideal_answer": ["Gulls are."],
            "id": "5e2",
            "snippets": [
                {
                    "beginSection": "sections.0",
                    "document": f"{PUBMED}11",
                    "endSection": "sections.0",
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 99,
                    "text": "Gulls ...",
                },
                {
                    "beginSection": "title",
                    "document": f"{PUBMED}12",
                    "endSection": "title",
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 49,
                    "text": "Gulls as a source of error",
                },
            ],
            "triples": [{"o": "x", "p": "y", "s": "z"}],
            "type": "list",
        },
        {"body": "Do tides matter?", "documents": [f"{PUBMED}14"], "id": "5e3", "type": "yesno"},
    ],
    "username": "somebody",
}


def snippet(document: str, begin: int, end: int, section: str = "abstract") -> Snippet:
    return Snippet(
        document=document,
        offset_in_begin_section=begin,
        offset_in_end_section=end,
        begin_section=section,
        end_section=section,
    )


def test_files_of_each_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(TEST_FILE))
    assert read_questions(path) == [Question("5e2", "Which birds are mistaken for boats?", "list")]
    path.write_text(json.dumps(GOLDEN))
    first, second = read(path)
    assert first.documents == [f"{PUBMED}11", f"{PUBMED}12", f"{PUBMED}13"]
    assert (first.snippets[0].begin_section, first.snippets[0].offset_in_end_section) == ("sections.0", 99)
    assert second.snippets == []


def test_a_run_is_written_in_bioasqs_format(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("an older run")
    answer = Question("5e2", "Which?", "list", [f"{PUBMED}11"], [snippet(f"{PUBMED}11", 3, 9)])
    write(path, [answer])
    assert list(tmp_path.iterdir()) == [path]
    assert json.loads(path.read_text()) == {
        "questions": [
            {
                "id": "5e2",
                "body": "Which?",
                "type": "list",
                "documents": [f"{PUBMED}11"],
                "snippets": [
                    {
                        "document": f"{PUBMED}11",
                        "text": "",
                        "offsetInBeginSection": 3,
                        "offsetInEndSection": 9,
                        "beginSection": "abstract",
                        "endSection": "abstract",
                    }
                ],
            }
        ]
    }
    assert read(path) == [answer]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated; it should look like"),
        (b"\xff\xfe", "it should look like"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"questions": [{"body": "no id"}]}', r"missing required field `id` - at `\$.questions\[0\]`"),
        (b'{"questions": [{"id": "1", "body": "a", "snippets": [{"document": "d"}]}]}', "offsetInBeginSection"),
        (b'{"questions": []}', "has no questions"),
        (b'{"questions": [{"id": "1", "body": " "}]}', 'the "body" of question 1 is empty'),
        (b'{"questions": [{"id": "1", "body": "a"}, {"id": "1", "body": "b"}]}', "the question 1 twice"),
    ],
)
def test_a_broken_file_gives_a_one_line_error_with_the_fix(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(CitewellError, match=message) as error:
        read_questions(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_documents_by_hand() -> None:
    golden = [f"{PUBMED}{number}" for number in (1, 2, 3)]
    scores = score_documents(
        [f"{PUBMED}1", f"{PUBMED}9", "https://pubmed.ncbi.nlm.nih.gov/3/", f"{PUBMED}1", "my-own-id"], golden
    )
    # Relevant at ranks 1 and 3 of four; the second mention of a record does not count: 1 + 2/3.
    assert scores == pytest.approx(QuestionScores(2 / 4, 2 / 3, 4 / 7, (5 / 3) / 3, (5 / 3) / 10, (5 / 3) / 3))
    assert score_documents([], golden) == QuestionScores()


def test_only_ten_documents_count_and_ten_are_enough() -> None:
    golden = [f"{PUBMED}{number}" for number in range(1, 21)]
    assert score_documents(golden, golden) == pytest.approx(QuestionScores(1.0, 0.5, 2 / 3, 1.0, 1.0, 1.0))
    assert score_documents([f"{PUBMED}{number}" for number in range(50, 60)] + golden, golden) == QuestionScores()


def test_snippets_by_hand() -> None:
    golden = [snippet("1", 0, 99, "sections.0"), snippet("1", 50, 149), snippet("2", 0, 49, "title")]
    returned = [snippet("1", 100, 199), snippet("3", 0, 49), snippet("2", 0, 49, "title"), snippet("2", 9, 3)]
    # 200 golden characters in two pieces; 50 of 100, 0 of 50 and 50 of 50 are relevant: 1/2 at the first and at the third rank.
    assert score_snippets(returned, golden) == pytest.approx(QuestionScores(0.5, 0.5, 0.5, 1 / 2, 1 / 10, 1 / 2))
    assert score_snippets([snippet("2", 0, 49)], golden) == QuestionScores(), "the same offsets in another section"
    assert score_snippets([], golden) == QuestionScores()


def test_average_precision_of_snippets_can_exceed_1() -> None:
    scores = score_snippets([snippet("1", 0, 9), snippet("1", 20, 29)], [snippet("1", 0, 39)])
    assert scores == pytest.approx(QuestionScores(1.0, 0.5, 2 / 3, 2.0, 0.2, 2.0))


def test_bioasqs_program_counts_every_snippet_of_a_golden_article() -> None:
    scores = score_snippets([snippet("1", 0, 9), snippet("1", 50, 59), snippet("2", 0, 9)], [snippet("1", 0, 9)])
    # One of one, one of two, one of three; only the program counts the second rank.
    assert (scores.average_precision, scores.by_program) == pytest.approx((1.0, 1.5))


def test_snippets_that_overlap_count_once_at_the_place_of_the_first() -> None:
    returned = [snippet("1", 0, 9), snippet("2", 0, 9), snippet("1", 15, 24), snippet("1", 9, 15)]
    golden = [snippet("1", 0, 24)]
    # Merged: the golden 25 characters first, then ten others.
    assert score_snippets(returned, golden) == pytest.approx(QuestionScores(25 / 35, 1.0, 5 / 6, 1.0, 0.1, 1.0))


spans_of_text = st.lists(
    st.builds(
        lambda document, begin, length, section: snippet(document, begin, begin + length, section),
        st.sampled_from(["1", "2"]),
        st.integers(0, 20),
        st.integers(0, 8),
        st.sampled_from(["title", "abstract"]),
    ),
    max_size=10,
)


def characters(snippets: list[Snippet]) -> set[tuple[str, str, int]]:
    return {
        (each.document, each.begin_section, offset)
        for each in snippets
        for offset in range(each.offset_in_begin_section, each.offset_in_end_section + 1)
    }


@given(spans_of_text, spans_of_text)
def test_precision_and_recall_are_those_of_sets_of_characters(returned: list[Snippet], golden: list[Snippet]) -> None:
    spans, relevant = characters(returned), characters(golden)
    precision = len(spans & relevant) / len(spans) if spans else 0.0
    recall = len(spans & relevant) / len(relevant) if relevant else 0.0
    assert score_snippets(returned, golden)[:2] == pytest.approx((precision, recall))


@given(st.lists(st.integers(0, 30), max_size=15, unique=True), st.lists(st.integers(0, 30), min_size=1, unique=True))
def test_average_precision_matches_its_definition(returned: list[int], golden: list[int]) -> None:
    total = sum(len(set(returned[:rank]) & set(golden)) / rank for rank, each in enumerate(returned[:10], 1) if each in golden)
    scores = score_documents([f"{PUBMED}{each}" for each in returned], [f"{PUBMED}{each}" for each in golden])
    assert (scores.average_precision, scores.of_ten) == pytest.approx((total / min(10, len(golden)), total / 10))


def test_a_run_by_hand() -> None:
    golden = [
        Question("a", documents=["1", "2", "3"], snippets=[snippet("1", 0, 9)]),
        Question("b", documents=["4"]),
        Question("c", body="nobody answered this one"),
    ]
    scores = score([Question("a", documents=["1", "9", "3", "8"]), Question("x", documents=["1"])], golden)
    assert (scores.questions, scores.missing) == (2, 1)
    assert scores.documents == pytest.approx(
        {
            "precision": 1 / 4,
            "recall": 1 / 3,
            "F1": 2 / 7,
            "MAP": 5 / 18,
            "GMAP": math.sqrt((5 / 9 + 1e-5) * 1e-5),
            "MAP/10": 1 / 12,
            "GMAP/10": math.sqrt((1 / 6 + 1e-5) * 1e-5),
            "MAP-program": 5 / 18,
            "GMAP-program": math.sqrt((5 / 9 + 1e-5) * 1e-5),
        }
    )
    assert scores.snippets == pytest.approx({name: 1e-5 if name.startswith("GMAP") else 0.0 for name in scores.documents})


def test_a_golden_file_without_answers_is_an_error() -> None:
    with pytest.raises(CitewellError, match="no documents and no snippets"):
        score([], [Question("a", "Which?")])
