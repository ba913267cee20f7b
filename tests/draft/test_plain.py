"""Plain-text drafts."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.draft import parse, read
from citewell.errors import CitewellError
from citewell.papers import TARGET_MARK

DRAFT = """What to Cite

Abstract

We rank papers. It works.

Introduction

Topic models [?] are old. Vectors came later
[CITATION]. Nothing here.

A second paragraph without a gap.
"""


def test_title_abstract_and_paragraphs() -> None:
    draft = parse(DRAFT)
    assert draft.title == "What to Cite"
    assert draft.abstract == "We rank papers. It works."
    assert [paragraph.section for paragraph in draft.paragraphs] == ["Introduction"] * 2
    assert [sentence.text for sentence in draft.paragraphs[1].sentences] == ["A second paragraph without a gap."]


def test_each_gap_becomes_a_slot_with_its_line() -> None:
    citations = parse(DRAFT).citations
    assert [citation.place.line for citation in citations] == [9, 10]
    assert all(citation.is_gap and citation.context.count(TARGET_MARK) == 1 for citation in citations)
    assert citations[0].context.startswith(f"Topic models {TARGET_MARK}")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_offsets_are_those_of_the_text_as_it_is(newline: str) -> None:
    draft = parse(DRAFT.replace("\n", newline))
    source = draft.sources[""]
    assert [source[citation.place.begin : citation.place.end] for citation in draft.citations] == ["[?]", "[CITATION]"]
    written = [source[each.place.begin : each.place.end] for each in draft.paragraphs[0].sentences]
    assert written == ["Topic models [?] are old.", f"Vectors came later{newline}[CITATION].", "Nothing here."]
    assert [sentence.cited for sentence in draft.paragraphs[0].sentences] == [True, True, False]


def test_without_the_word_abstract_the_first_paragraph_is_it() -> None:
    assert parse("A title\n\nThe first long enough paragraph says what this is about.\n").abstract.startswith("The first")


@pytest.mark.parametrize(("content", "says"), [(b"", "empty"), (b"PK\x00\x01", "not a text file")])
def test_unreadable_files_give_an_error(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "draft"
    path.write_bytes(content)
    with pytest.raises(CitewellError, match=says):
        read(path)


def test_items_are_paragraphs_and_a_list_of_references_is_its_section() -> None:
    draft = parse(
        "Title\n\nAbstract\n\nAn abstract.\n\n- Boats float [?].\n  They do.\n- Gulls fly.\n\nReferences\n[1] Holt, M. Boats.",
        "text",
    )
    assert [(each.section, each.text) for each in draft.paragraphs] == [
        ("", "- Boats float OTHERCIT. They do."),
        ("", "- Gulls fly."),
        ("References", "[1] Holt, M. Boats."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Topic models [?] are old. Vectors came later [CITATION].",
        "Topic models [?] are old. Vectors came later [CITATION].\n\nNothing here.",
        "Topic models [?] are old and\nvectors came later [CITATION]",
        "Topic models [?] and vectors [?]\n\nThe text.",
    ],
)
def test_a_pasted_paragraph_is_not_a_title(text: str) -> None:
    draft = parse(text)
    assert draft.title == draft.abstract == ""
    assert len(draft.gaps) == 2 and draft.paragraphs


@pytest.mark.parametrize(
    "first", ["It ends here.", "It is one. It is two", "It goes on\nin the next line", "Abstract", "word " * 40]
)
def test_what_is_not_a_title(first: str) -> None:
    assert parse(f"{first}\n\nThe text of the draft is here.", "text").title == ""


def test_the_paragraph_below_a_title_is_read_as_text_too() -> None:
    draft = parse("A title\n\nBoats float on water. Gulls fly over them.\n\nThey land at times.", "text")
    assert draft.abstract.startswith("Boats float")
    assert sum(len(each.sentences) for each in draft.paragraphs) == 3


def test_a_sentence_that_begins_with_the_word_abstract_is_text() -> None:
    draft = parse("Abstract thinking is hard to measure. It is.\n\nMore of it.", "text")
    assert draft.abstract == "" and len(draft.paragraphs) == 2


@pytest.mark.parametrize("label", ["Zusammenfassung", "**Résumé.**", "摘要:", "Аннотация"])
def test_an_abstract_in_another_language(label: str) -> None:
    assert parse(f"Titel\n\n{label}\n\nWir ordnen.\n\nMehr Text steht hier.", "text").abstract == "Wir ordnen."
