"""A study on disk: a folder that has all that the judges see, so that it can be copied to another machine.

``study.json`` has the settings, ``contexts.jsonl`` the contexts in the order in which judges see them and the first papers of
each system, ``papers.jsonl`` what is shown of each paper, and ``judgements.jsonl`` the marks.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citewell.errors import CitewellError
from citewell.files import write_atomically
from citewell.judgements import JudgedText

FORMAT = 1
MAX_SYSTEMS = 6
"""More columns than this cannot be compared side by side."""
SETTINGS, CONTEXTS, PAPERS, JUDGEMENTS = "study.json", "contexts.jsonl", "papers.jsonl", "judgements.jsonl"

Line = TypeVar("Line", bound=msgspec.Struct)


class Step(msgspec.Struct, frozen=True):
    """One step of choosing the contexts."""

    step: str
    left: int
    """How many contexts are left after it."""


class Settings(msgspec.Struct, frozen=True):
    """How a study was made."""

    name: str
    """The set, or the library."""
    task: str
    k: int
    """How many papers of each system are judged."""
    seed: int
    """Determines the sample of contexts, their order, and the order of the systems."""
    systems: list[str]
    components: list[str]
    """The systems whose relevant papers are counted to estimate recall."""
    split: str = ""
    judges: list[str] = []
    """Who may judge; empty for anyone."""
    context_only: bool = False
    """Whether systems and judges see only the context, without title and abstract of the citing paper."""
    filters: dict[str, Any] = {}
    steps: list[Step] = []
    weights: dict[str, str] = {}
    """The weights of the systems, each with its fingerprint."""
    citewell: str = ""
    """The version that made the study."""
    format: int = FORMAT


class StudyContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """One context and what each system suggests for it."""

    id: str
    text: JudgedText
    rankings: dict[str, list[str]]
    """System to the canonical ids of its first papers, best first."""
    cited: list[str] = []
    """What the authors cite there. Judges do not see it."""

    def papers(self) -> list[str]:
        """All suggested papers, each once."""
        return list(dict.fromkeys(paper for ranking in self.rankings.values() for paper in ranking))


class StudyPaper(msgspec.Struct, frozen=True, omit_defaults=True):
    """What judges see of a paper."""

    id: str
    title: str
    abstract: str = ""
    authors: list[str] = []
    year: int | None = None
    venue: str = ""


@dataclass(frozen=True)
class Study:
    """A study without its judgements."""

    folder: Path
    settings: Settings
    contexts: list[StudyContext]
    papers: dict[str, StudyPaper]

    @classmethod
    def open(cls, folder: Path) -> Study:
        path = folder / SETTINGS
        if not path.is_file():
            raise CitewellError(f"{folder} is not a user study: it has no {SETTINGS}; make one with 'citewell study make'")
        try:
            settings = msgspec.json.decode(path.read_bytes(), type=Settings)
        except msgspec.DecodeError as error:
            raise CitewellError(f"{path} cannot be read ({error}); make the study again or copy it again") from None
        if settings.format != FORMAT:
            raise CitewellError(
                f"{path} has format {settings.format}, which another version of citewell wrote; use that version"
            )
        contexts = _read(folder / CONTEXTS, StudyContext)
        papers = {paper.id: paper for paper in _read(folder / PAPERS, StudyPaper)}
        study = cls(folder, settings, contexts, papers)
        if missing := {paper for context in contexts for paper in context.papers()} - papers.keys():
            raise CitewellError(f"{folder / PAPERS} lacks {len(missing):,} suggested papers; copy the study again")
        return study

    @cached_property
    def by_id(self) -> dict[str, StudyContext]:
        return {context.id: context for context in self.contexts}

    @property
    def judgements(self) -> Path:
        """The file with the judgements; it need not exist yet."""
        return self.folder / JUDGEMENTS

    def write(self) -> None:
        """Write the study to its folder, which must not have one; the folder appears complete or not at all."""
        check_free(self.folder)
        part = self.folder.with_name(f"{self.folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _write(part / CONTEXTS, self.contexts)
        _write(part / PAPERS, list(self.papers.values()))
        settings = msgspec.json.format(msgspec.json.encode(self.settings), indent=2)
        write_atomically(part / SETTINGS, settings + b"\n")
        part.rename(self.folder)


def check_free(folder: Path) -> None:
    """Raise an error if a study cannot be written to this folder: marks must never be lost to a new study."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CitewellError(f"{folder} exists already; name another folder for the study, or move that one away")


def _read(path: Path, kind: type[Line]) -> list[Line]:
    if not path.is_file():
        raise CitewellError(f"{path} is missing; copy the study again")
    decode = msgspec.json.Decoder(kind).decode
    lines = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            lines.append(decode(line))
        except msgspec.DecodeError as error:
            raise CitewellError(f"{path}, line {number}: {error}; copy the study again") from None
    return lines


def _write(path: Path, lines: Sequence[msgspec.Struct]) -> None:
    write_atomically(path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
