"""Plain-text drafts."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.draft.plain import parse, read_draft
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


def test_the_parts_of_a_draft_are_found() -> None:
    draft = parse(DRAFT)
    assert draft.title == "What to Cite"
    assert draft.abstract == "We rank papers. It works."
    assert len(draft.paragraphs) == 2
    assert draft.topics[1] == "A second paragraph without a gap."


def test_each_gap_becomes_a_slot_with_its_line() -> None:
    slots = parse(DRAFT).slots
    assert [slot.line for slot in slots] == [9, 10]
    assert all(slot.context.count(TARGET_MARK) == 1 for slot in slots)
    assert slots[0].context.startswith(f"Topic models {TARGET_MARK}")


def test_without_the_word_abstract_the_first_paragraph_is_it() -> None:
    assert parse("A title\n\nThe first long enough paragraph says what this is about.\n").abstract.startswith("The first")


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "empty"), (b"\\documentclass{article}", "LaTeX"), (b"PK\x00\x01", "not a text file")],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "draft"
    path.write_bytes(content)
    with pytest.raises(CitewellError, match=says):
        read_draft(path)
