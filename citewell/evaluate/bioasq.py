"""The JSON files of BioASQ's task b, phase A: questions, and the documents and snippets that answer them.

A test file has questions alone; a golden file and a run have answers, best first. Fields of the other phases are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.errors import CitewellError

LIMIT = 10
"""A run may name so many documents, and so many snippets, for a question."""


class Snippet(msgspec.Struct, rename="camel", kw_only=True):
    """A stretch of an article."""

    document: str
    text: str = ""
    offset_in_begin_section: int
    offset_in_end_section: int
    begin_section: str
    """``title`` or ``abstract``, which older files call ``sections.0``."""
    end_section: str


class Question(msgspec.Struct):
    """A question, with its answers where a file has them."""

    id: str
    body: str = ""
    type: str = ""
    documents: list[str] = msgspec.field(default_factory=list)
    """Addresses of PubMed records."""
    snippets: list[Snippet] = msgspec.field(default_factory=list)


class _File(msgspec.Struct):
    questions: list[Question]


def read(path: Path) -> list[Question]:
    """The questions of a file, with whatever answers it has; no two have the same id."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File, strict=False).questions
    except msgspec.DecodeError as error:
        shape = '{"questions": [{"id": "...", "body": "..."}]}'
        raise CitewellError(f"{path} is not a file of BioASQ's task b: {error}; it should look like {shape}") from None
    if not found:
        raise CitewellError(f"{path} has no questions; download it again")
    seen: set[str] = set()
    for question in found:
        if question.id in seen:
            raise CitewellError(f"{path} has the question {question.id} twice; take one of them out")
        seen.add(question.id)
    return found


def read_questions(path: Path) -> list[Question]:
    """The questions of a file, all of which ask something."""
    found = read(path)
    for question in found:
        if not question.body.strip():
            raise CitewellError(f'{path}: the question {question.id} asks nothing; write it into its "body"')
    return found


def write(path: Path, questions: Sequence[Question]) -> None:
    """Write a run; what stood in its place stays until all is written."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(_File(list(questions))), indent=2) + b"\n")
    part.replace(path)
