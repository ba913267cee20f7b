"""The training and golden files of BioASQ's task b, read record by record.

`citewell.evaluate.bioasq` reads the files of a challenge, which must be right as a whole. A training file has thousands of
questions from many years, so here a broken question or snippet is one line of problems, and the others are read. Ideal and
exact answers, concepts and triples are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from citewell.errors import CitewellError


class TrainingSnippet(msgspec.Struct, rename="camel", kw_only=True):
    """A span of text in an article, as a person marked it."""

    document: str
    text: str = ""
    begin_section: str = ""
    end_section: str = ""
    offset_in_begin_section: int = -1
    offset_in_end_section: int = -1


class TrainingQuestion(msgspec.Struct, kw_only=True):
    """A question and what answers it."""

    id: str
    body: str
    type: str = ""
    documents: list[str] = msgspec.field(default_factory=list)
    snippets: list[TrainingSnippet] = msgspec.field(default_factory=list)


class _RawQuestion(msgspec.Struct, kw_only=True):
    """A question whose snippets are not decoded yet."""

    id: str
    body: str
    type: str = ""
    documents: list[str] = msgspec.field(default_factory=list)
    snippets: list[msgspec.Raw] = msgspec.field(default_factory=list)


class _File(msgspec.Struct):
    questions: list[msgspec.Raw]


@dataclass
class TrainingFile:
    """The questions of a file in its order, and a line for every record that could not be read."""

    path: Path
    questions: list[TrainingQuestion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def problem(self, where: str, reason: str) -> None:
        self.problems.append(f"{self.path}: {where}: {reason}; it was skipped")


def read_training(path: Path) -> TrainingFile:
    """The questions of a training or golden file."""
    shape = '{"questions": [{"id": "...", "body": "...", "documents": [...], "snippets": [...]}]}'
    try:
        raw = msgspec.json.decode(path.read_bytes(), type=_File).questions
    except msgspec.DecodeError as error:
        raise CitewellError(f"{path} is not a file of BioASQ's task b: {error}; it should look like {shape}") from None
    file = TrainingFile(path)
    seen: set[str] = set()
    for number, record in enumerate(raw, 1):
        try:
            question = msgspec.json.decode(record, type=_RawQuestion, strict=False)
        except msgspec.DecodeError as error:
            file.problem(f"question {number}", str(error))
            continue
        where = f"question {number} ({question.id})"
        if not question.body.strip():
            file.problem(where, "its body is empty")
        elif question.id in seen:
            file.problem(where, "an earlier question has the same id")
        else:
            seen.add(question.id)
            snippets = _snippets(file, where, question.snippets)
            file.questions.append(
                TrainingQuestion(
                    id=question.id,
                    body=question.body,
                    type=question.type,
                    documents=question.documents,
                    snippets=snippets,
                )
            )
    return file


def _snippets(file: TrainingFile, where: str, records: list[msgspec.Raw]) -> list[TrainingSnippet]:
    snippets = []
    for number, record in enumerate(records, 1):
        try:
            snippet = msgspec.json.decode(record, type=TrainingSnippet, strict=False)
        except msgspec.DecodeError as error:
            file.problem(f"{where}, snippet {number}", str(error))
            continue
        if snippet.text.strip() or 0 <= snippet.offset_in_begin_section < snippet.offset_in_end_section:
            snippets.append(snippet)
        else:
            file.problem(f"{where}, snippet {number}", "it has neither a text nor offsets")
    return snippets
