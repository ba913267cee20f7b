"""The JSON files of BioASQ's task b, phase A: questions, and the documents and snippets that answer them.

A test file has questions only. A golden file and a run also have answers, best first. Fields of other phases are ignored. The
names of the fields are those of the challenge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.errors import CitewellError
from citewell.files import write_atomically

LIMIT = 10
"""The maximum number of documents, and of snippets, of a question in a run."""


class Snippet(msgspec.Struct, rename="camel", kw_only=True):
    """A span of text in an article."""

    document: str
    text: str = ""
    offset_in_begin_section: int
    offset_in_end_section: int
    begin_section: str
    """``title`` or ``abstract``, which older files call ``sections.0``."""
    end_section: str


class Question(msgspec.Struct):
    """A question, with its answers if the file has them."""

    id: str
    body: str = ""
    type: str = ""
    documents: list[str] = msgspec.field(default_factory=list)
    """URLs of PubMed records."""
    snippets: list[Snippet] = msgspec.field(default_factory=list)


class _File(msgspec.Struct):
    questions: list[Question]


def read(path: Path) -> list[Question]:
    """The questions of a file, with their answers if it has any; no two have the same id."""
    try:
        questions = msgspec.json.decode(path.read_bytes(), type=_File, strict=False).questions
    except msgspec.DecodeError as error:
        shape = '{"questions": [{"id": "...", "body": "..."}]}'
        raise CitewellError(f"{path} is not a file of BioASQ's task b: {error}; it should look like {shape}") from None
    if not questions:
        raise CitewellError(f"{path} has no questions; download it again")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise CitewellError(f"{path} has the question {question.id} twice; remove one of them")
        seen.add(question.id)
    return questions


def read_questions(path: Path) -> list[Question]:
    """The questions of a file, none of which is empty."""
    questions = read(path)
    for question in questions:
        if not question.body.strip():
            raise CitewellError(f'{path}: the "body" of question {question.id} is empty; write the question there')
    return questions


def write(path: Path, questions: Sequence[Question]) -> None:
    """Write a run; an existing file stays until the new one is complete."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(_File(list(questions))), indent=2) + b"\n")
