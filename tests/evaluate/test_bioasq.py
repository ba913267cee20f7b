"""BioASQ's files as they come, and its measures against values worked out by hand and against their definition."""

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
from citewell.evaluate.bioasq_measures import Marks, mark_documents, mark_snippets, score

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


def test_a_run_is_written_as_bioasq_wants_it(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("an older run")
    found = Question("5e2", "Which?", "list", [f"{PUBMED}11"], [snippet(f"{PUBMED}11", 3, 9)])
    write(path, [found])
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
    assert read(path) == [found]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "truncated; it should look like"),
        (b"\xff\xfe", "it should look like"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"questions": [{"body": "no id"}]}', r"missing required field `id` - at `\$.questions\[0\]`"),
        (b'{"questions": [{"id": "1", "body": "a", "snippets": [{"document": "d"}]}]}', "offsetInBeginSection"),
        (b'{"questions": []}', "has no questions"),
        (b'{"questions": [{"id": "1", "body": " "}]}', "the question 1 asks nothing"),
        (b'{"questions": [{"id": "1", "body": "a"}, {"id": "1", "body": "b"}]}', "the question 1 twice"),
    ],
)
def test_a_broken_file_gives_one_line_that_says_the_fix(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(CitewellError, match=says) as error:
        read_questions(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_documents_by_hand() -> None:
    golden = [f"{PUBMED}{number}" for number in (1, 2, 3)]
    found = mark_documents(
        [f"{PUBMED}1", f"{PUBMED}9", "https://pubmed.ncbi.nlm.nih.gov/3/", f"{PUBMED}1", "my-own-id"], golden
    )
    # Right at ranks 1 and 3 of four, the second mention of a record being none: 1 + 2/3.
    assert found == pytest.approx(Marks(2 / 4, 2 / 3, 4 / 7, (5 / 3) / 3, (5 / 3) / 10, (5 / 3) / 3))
    assert mark_documents([], golden) == Marks()


def test_only_ten_documents_count_and_ten_are_enough() -> None:
    golden = [f"{PUBMED}{number}" for number in range(1, 21)]
    assert mark_documents(golden, golden) == pytest.approx(Marks(1.0, 0.5, 2 / 3, 1.0, 1.0, 1.0))
    assert mark_documents([f"{PUBMED}{number}" for number in range(50, 60)] + golden, golden) == Marks()


def test_snippets_by_hand() -> None:
    golden = [snippet("1", 0, 99, "sections.0"), snippet("1", 50, 149), snippet("2", 0, 49, "title")]
    returned = [snippet("1", 100, 199), snippet("3", 0, 49), snippet("2", 0, 49, "title"), snippet("2", 9, 3)]
    # 200 golden characters in two pieces; 50 of 100, 0 of 50 and 50 of 50 are right: 1/2 at the first and at the third rank.
    assert mark_snippets(returned, golden) == pytest.approx(Marks(0.5, 0.5, 0.5, 1 / 2, 1 / 10, 1 / 2))
    assert mark_snippets([snippet("2", 0, 49)], golden) == Marks(), "the same offsets in another section"
    assert mark_snippets([], golden) == Marks()


def test_several_snippets_in_a_golden_one_can_pass_1() -> None:
    found = mark_snippets([snippet("1", 0, 9), snippet("1", 20, 29)], [snippet("1", 0, 39)])
    assert found == pytest.approx(Marks(1.0, 0.5, 2 / 3, 2.0, 0.2, 2.0))


def test_bioasqs_program_takes_every_snippet_of_a_right_article_for_right() -> None:
    found = mark_snippets([snippet("1", 0, 9), snippet("1", 50, 59), snippet("2", 0, 9)], [snippet("1", 0, 9)])
    # One of one, one of two, one of three; the second rank is right to the program alone.
    assert (found.average_precision, found.by_program) == pytest.approx((1.0, 1.5))


def test_snippets_that_overlap_count_once_at_the_place_of_the_first() -> None:
    returned = [snippet("1", 0, 9), snippet("2", 0, 9), snippet("1", 15, 24), snippet("1", 9, 15)]
    golden = [snippet("1", 0, 24)]
    # Joined: the golden 25 characters first, then ten wrong ones.
    assert mark_snippets(returned, golden) == pytest.approx(Marks(25 / 35, 1.0, 5 / 6, 1.0, 0.1, 1.0))


stretches = st.lists(
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


@given(stretches, stretches)
def test_precision_and_recall_are_those_of_sets_of_characters(returned: list[Snippet], golden: list[Snippet]) -> None:
    found, right = characters(returned), characters(golden)
    precision = len(found & right) / len(found) if found else 0.0
    recall = len(found & right) / len(right) if right else 0.0
    assert mark_snippets(returned, golden)[:2] == pytest.approx((precision, recall))


@given(st.lists(st.integers(0, 30), max_size=15, unique=True), st.lists(st.integers(0, 30), min_size=1, unique=True))
def test_average_precision_is_what_its_definition_says(returned: list[int], golden: list[int]) -> None:
    total = sum(len(set(returned[:rank]) & set(golden)) / rank for rank, each in enumerate(returned[:10], 1) if each in golden)
    found = mark_documents([f"{PUBMED}{each}" for each in returned], [f"{PUBMED}{each}" for each in golden])
    assert (found.average_precision, found.of_ten) == pytest.approx((total / min(10, len(golden)), total / 10))


def test_a_run_by_hand() -> None:
    golden = [
        Question("a", documents=["1", "2", "3"], snippets=[snippet("1", 0, 9)]),
        Question("b", documents=["4"]),
        Question("c", body="nobody answered this one"),
    ]
    found = score([Question("a", documents=["1", "9", "3", "8"]), Question("x", documents=["1"])], golden)
    assert (found.questions, found.missing) == (2, 1)
    assert found.documents == pytest.approx(
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
    assert found.snippets == pytest.approx({name: 1e-5 if name.startswith("GMAP") else 0.0 for name in found.documents})


def test_golden_answers_without_answers_are_refused() -> None:
    with pytest.raises(CitewellError, match="no documents and no snippets"):
        score([], [Question("a", "Which?")])
