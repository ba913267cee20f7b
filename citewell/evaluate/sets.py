"""Data sets: a folder of JSON lines and a ``set.toml`` with the years for training, dev and test.

Papers and contexts are read by the same reader as in ``citewell add``, so a set and a library have the same ids.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from citewell.errors import CitewellError
from citewell.papers import Context, Paper, Problem
from citewell.sources import InputError, citewell_jsonl
from citewell.sources.source import Source

TASKS = ("global", "local", "paragraph", "evidence")
SPLITS = ("dev", "test")

Task = Literal["global", "local", "paragraph", "evidence"]
Record = TypeVar("Record")


Id = str | int
"""An id as it may appear in a line."""


class Paragraph(msgspec.Struct):
    """A paragraph with citations: its topic sentence, and the papers cited in the rest."""

    citing: Id
    cited: list[Id]
    topic_sentence: str
    id: Id = ""


class FullParagraph(Paragraph):
    """A paragraph with its full text; citations are marks."""

    text: str = ""
    section: str = ""


class Snippets(msgspec.Struct):
    """Sentences of one paper, by their position."""

    paper: Id
    sentences: list[int]


class Evidence(msgspec.Struct):
    """A question or claim, the relevant papers, and the relevant sentences in them."""

    question: str
    documents: list[Id]
    id: Id = ""
    snippets: list[Snippets] | None = None
    split: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Split:
    """The citing papers of the queries, and the last year whose links the queries may see."""

    name: str
    years: frozenset[int]
    links_until: int | None
    """Queries may see links and contexts of citing papers up to this year; None for queries without dates."""


@dataclass
class DataSet:
    """An opened data set."""

    folder: Path
    name: str
    about: str
    tasks: tuple[str, ...]
    train_until: int | None
    years: dict[str, tuple[int, ...]]
    """The years of the citing papers of each split."""
    problems: dict[str, int] = field(default_factory=dict)
    """File to the number of its lines that could not be read."""

    @classmethod
    def open(cls, folder: Path) -> DataSet:
        path = folder / "set.toml"
        if not path.is_file():
            raise CitewellError(f"{folder} is not a data set: it has no set.toml; docs/guides/formats.md describes the format")
        try:
            content = tomllib.loads(path.read_text("utf-8"))
            name, tasks = str(content["name"]), tuple(str(task) for task in content["tasks"])
            until = content.get("train_until")
            years = {split: _years(content.get(split, [])) for split in SPLITS}
            train_until = None if until is None else int(until)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise CitewellError(f"{path} is not a valid description of a data set: {type(error).__name__} {error}") from None
        if not tasks:
            raise CitewellError(f'{path} names no task; write tasks = ["global"], or others of {", ".join(TASKS)}')
        if unknown := set(tasks) - set(TASKS):
            raise CitewellError(f"{path} names an unknown task: {', '.join(sorted(unknown))}")
        return cls(folder, name, str(content.get("about", "")), tasks, train_until, years)

    def split(self, name: str) -> Split:
        """The split called `name`. Its years must come after those whose links it may see."""
        years = self.years[name]
        if not years:
            raise CitewellError(f"{self.folder / 'set.toml'} names no years for the {name} split")
        first = min(year for each in self.years.values() for year in each)
        trained = first - 1 if self.train_until is None else self.train_until
        until = trained if name == "dev" else max((trained, *self.years["dev"]))
        if min(years) <= until:
            raise CitewellError(
                f"{self.folder / 'set.toml'}: the {name} years must be after {until}, the last year whose links may be seen"
            )
        return Split(name, frozenset(years), until)

    def undated_split(self, name: str) -> Split:
        """The split called `name` of queries without dates."""
        return Split(name, frozenset(), None)

    def papers(self, distractors: bool = False) -> Iterator[Paper]:
        """Every paper of the set, with all its references."""
        for name in ("papers", "distractors") if distractors else ("papers",):
            path = self._file(name)
            if path is None and name == "distractors":
                raise CitewellError(f"{self.folder} has no distractors; leave out --distractors")
            if path is None:
                raise CitewellError(f"{self.folder} has no papers.jsonl.gz")
            for record in self._read(path):
                if isinstance(record, Paper):
                    yield record

    def contexts(self) -> Iterator[Context]:
        path = self._file("contexts")
        for record in self._read(path) if path else ():
            if isinstance(record, Context):
                yield record

    def paragraphs(self) -> Iterator[Paragraph]:
        return self._decoded("paragraphs", Paragraph)

    def full_paragraphs(self) -> Iterator[FullParagraph]:
        return self._decoded("paragraphs", FullParagraph)

    def evidence(self) -> Iterator[Evidence]:
        return self._decoded("evidence", Evidence)

    def naming(self) -> citewell_jsonl.Naming:
        """The function from an id in a line of the set to the canonical id."""
        return citewell_jsonl.naming_of(self.name)

    def files(self) -> list[Path]:
        """The files of the set."""
        names = ("papers", "contexts", "paragraphs", "evidence", "distractors")
        return [self.folder / "set.toml", *(path for name in names if (path := self._file(name)))]

    def records(self, distractors: bool) -> int:
        """The number of lines of papers and contexts."""
        count = 0
        for name in ("papers", "contexts", *(("distractors",) if distractors else ())):
            if path := self._file(name):
                # Errors in a file are reported when its records are read.
                with Source(path) as source, suppress(InputError):
                    while chunk := source.stream.read(1 << 20):
                        count += chunk.count(b"\n")
        return count

    def digest(self, distractors: bool) -> str:
        """Fingerprint of the papers and contexts of this set."""
        state = blake2b(digest_size=8)
        for name in ("papers", "contexts", *(("distractors",) if distractors else ())):
            if path := self._file(name):
                with path.open("rb") as stream:
                    while chunk := stream.read(1 << 20):
                        state.update(chunk)
            state.update(b"\x00")
        return state.hexdigest()

    def _file(self, name: str) -> Path | None:
        return next((path for end in (".jsonl.gz", ".jsonl") if (path := self.folder / f"{name}{end}").is_file()), None)

    def _read(self, path: Path) -> Iterator[Paper | Context]:
        self.problems.pop(path.name, None)
        try:
            with Source(path, self.name) as source:
                for record in citewell_jsonl.read(source):
                    if isinstance(record, Problem):
                        self._problem(path)
                    else:
                        yield record
        except InputError as error:
            raise CitewellError(f"{path}: {error}") from None

    def _decoded(self, name: str, kind: type[Record]) -> Iterator[Record]:
        path = self._file(name)
        if path is None:
            return
        self.problems.pop(path.name, None)
        decode = msgspec.json.Decoder(kind, strict=False).decode
        try:
            with Source(path, self.name) as source:
                for _, line in source.lines():
                    if isinstance(line, Problem):
                        self._problem(path)
                    elif line.strip():
                        try:
                            yield decode(line)
                        except msgspec.DecodeError:
                            self._problem(path)
        except InputError as error:
            raise CitewellError(f"{path}: {error}") from None

    def _problem(self, path: Path) -> None:
        self.problems[path.name] = self.problems.get(path.name, 0) + 1


def _years(value: Any) -> tuple[int, ...]:
    return tuple(sorted(int(year) for year in (value if isinstance(value, list) else [value])))
