"""Adding files to a library: find the reader, stream its records, commit them batch by batch.

Each batch is one transaction that also records how far the file has been read, so an interrupted add resumes there. Records
that cannot be added are counted and listed; they never stop the rest.

A file is remembered by its path. When it is added again, what it says now replaces what it said before, and records that it no
longer has are listed or, with `sync`, withdrawn.
"""

from __future__ import annotations

import os
import sqlite3
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from citewell.errors import CitewellError
from citewell.library.abbreviations import SharedAbbreviations, shared_abbreviations
from citewell.library.index.indexer import Indexer
from citewell.library.store import statements
from citewell.library.store.edits import pair
from citewell.library.store.identity import is_supplement
from citewell.library.store.intake import Intake
from citewell.library.store.schema import transaction
from citewell.library.store.statements import Reading, Statement
from citewell.papers import Context, Paper, Problem, Remainder
from citewell.progress import Progress
from citewell.sources import InputError, Record, Source, find_reader

_BATCH_RECORDS = 4096
_BATCH_CHARACTERS = 8_000_000
_LISTED_PROBLEMS = 1000
_LISTED_NAMES = 5
_NO_TITLE = "neither a title nor an identifier; it is kept, and used when another file has an entry with this key"
_SET_FILES = ("papers.jsonl.gz", "papers.jsonl", "contexts.jsonl.gz", "contexts.jsonl")


@dataclass(slots=True)
class Skipped:
    """One record that was skipped."""

    file: str
    line: int | None
    reason: str


@dataclass(slots=True)
class Gone:
    """One record that a file no longer has."""

    file: str
    key: str
    title: str


@dataclass(slots=True)
class Outcome:
    """What an add did."""

    files: int = 0
    identifiers: int = 0
    """How many papers were looked up by an identifier."""
    papers: int = 0
    """Records read that describe a paper."""
    new_papers: int = 0
    """Those that the library did not have."""
    changed: int = 0
    """Those that say something else than when the file was last added."""
    contexts: int = 0
    skipped: int = 0
    problems: list[Skipped] = field(default_factory=list)
    """The first thousand of the records that were skipped."""
    gone: list[Gone] = field(default_factory=list)
    """Records that a file had when it was last added, and no longer has."""
    removed: int = 0
    """How many of these were withdrawn."""
    notes: list[str] = field(default_factory=list)

    def skip(self, file: Path | str, line: int | None, reason: str) -> None:
        self.skipped += 1
        if len(self.problems) < _LISTED_PROBLEMS:
            self.problems.append(Skipped(str(file), line, reason))


@dataclass(frozen=True, slots=True)
class InputFile:
    path: Path
    namespace: str = "local"


def input_files(paths: Iterable[Path], distractors: bool = False) -> list[InputFile]:
    """The files to read, in order: a data set's papers and contexts, Zotero's database, a folder's files, the file itself."""
    files: list[InputFile] = []
    for path in paths:
        if not path.exists():
            raise CitewellError(f"{path} does not exist")
        files += _expand(path, distractors)
    return files


def _expand(path: Path, distractors: bool) -> Iterator[InputFile]:
    if not path.is_dir() or _folder_advice(path):
        yield InputFile(path)
    elif (path / "set.toml").is_file():
        try:
            name = str(tomllib.loads((path / "set.toml").read_text("utf-8"))["name"])
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
            raise CitewellError(f"{path / 'set.toml'} does not name a data set: {error}") from None
        files = _SET_FILES + (("distractors.jsonl.gz", "distractors.jsonl") if distractors else ())
        yield from (InputFile(path / file, name) for file in files if (path / file).is_file())
    elif (path / "zotero.sqlite").is_file():
        # Zotero's data folder: what else is in it are older copies of this file, attachments, styles and programs.
        yield InputFile(path / "zotero.sqlite")
    else:
        for inner in sorted(path.iterdir()):
            if not inner.name.startswith("."):
                yield from _expand(inner, distractors)


@dataclass(slots=True)
class _Batch:
    """Records to store in one transaction, and their positions in the file."""

    records: list[Paper | Context] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    size: int = 0

    def append(self, record: Paper | Context, position: int) -> None:
        self.records.append(record)
        self.positions.append(position)
        self.size += len(record.abstract) + 80 * len(record.sentences) if isinstance(record, Paper) else len(record.text)

    def full(self) -> bool:
        return len(self.records) >= _BATCH_RECORDS or self.size > _BATCH_CHARACTERS


def _folder_advice(path: Path) -> str:
    from citewell.sources.unreadable import folder_advice

    return folder_advice(path) if path.suffix else ""


class Adding:
    """One add in progress; needs the library's lock."""

    def __init__(self, db: sqlite3.Connection, indexer: Indexer, progress: Progress, sync: bool = False) -> None:
        self._db = db
        self._indexer = indexer
        self._progress = progress
        self._sync = sync
        self._intake = Intake(db)
        self._abbreviations = SharedAbbreviations({})
        self._bytes_read = 0
        """The size of the files that are done."""
        self.outcome = Outcome()

    def files(self, files: list[InputFile]) -> None:
        """Add every file; what an earlier, interrupted run has committed is skipped."""
        sizes = [file.path.stat().st_size if file.path.is_file() else 0 for file in files]
        name = files[0].path.name if len(files) == 1 else f"{len(files):,} files"
        self._progress.start(f"reading {name}", sum(sizes), "bytes")
        self._abbreviations = shared_abbreviations(self._db, [file.path for file in files])
        for file, size in zip(files, sizes, strict=True):
            self._file(file)
            self.outcome.files += 1
            self._bytes_read += size
            self._progress.update(self._bytes_read)
        self._join_supplements({os.path.realpath(file.path) for file in files})

    def _join_supplements(self, files: set[str]) -> None:
        """Join entries without a title and identifier with those of the same key; list those of these files that are left."""
        with transaction(self._db):
            left = self._intake.join_supplements()
        names = {source.num: source.name for source in statements.sources(self._db)} if left else {}
        for each in sorted(left, key=lambda each: each.priority):
            if names[each.source] in files:
                self.outcome.skip(names[each.source], None, f"{each.key}: {_NO_TITLE}")

    def vanished(self, folders: Iterable[Path]) -> None:
        """Deal with files of these folders that were added before and no longer exist."""
        inside = tuple(f"{folder.resolve()}{os.sep}" for folder in folders)
        for source in statements.sources(self._db):
            if not source.own or not source.name.startswith(inside) or Path(source.name).exists():
                continue
            gone = list(statements.of_source(self._db, source.num))
            for each in gone:
                self.outcome.gone.append(Gone(source.name, each.key, statements.record(self._db, each).title))
            if self._sync:
                self._withdraw(gone)
                self.outcome.removed += len(gone)
        if self._sync:
            self._join_supplements(set())

    def take(self, records: Iterable[Paper | Context], source: str = "") -> None:
        """Add records made by a program or fetched from the service `source`; an interrupted call cannot be resumed."""
        self._progress.start("storing", None, "records")
        reading = None
        if source:
            with transaction(self._db):
                reading, _ = statements.begin(self._db, source, "", own=False, resumed=False)
        batch: list[Paper | Context] = []
        count = 0
        for record in records:
            self._count(record)
            batch.append(record)
            count += 1
            if len(batch) == _BATCH_RECORDS:
                self._commit(_Batch(batch, list(range(count - len(batch), count))), reading)
                self._progress.advance(len(batch))
                batch = []
        self._commit(_Batch(batch, list(range(count - len(batch), count))), reading)
        self._progress.advance(len(batch))

    def _file(self, file: InputFile) -> None:
        if not file.path.is_file():
            self.outcome.skip(file.path, None, _folder_advice(file.path) or "not a file, or a link to nothing")
            return
        try:
            with Source(file.path, file.namespace) as source:
                source.abbreviations = self._abbreviations.of(file.path)
                reader = find_reader(source.head)
                if reader is None:
                    from citewell.sources.unreadable import advice

                    self.outcome.skip(file.path, None, advice(file.path, source.head))
                    return
                self._records(file, source, reader.NAME, reader.read(source))
                if source.undefined:
                    self.outcome.notes.append(f"{file.path} uses {_undefined(source.undefined)}")
        except InputError as error:
            self.outcome.skip(file.path, None, str(error))
        except OSError as error:
            if error.filename is None or Path(error.filename) != file.path:
                raise
            self.outcome.skip(file.path, None, error.strerror or str(error))

    def _records(self, file: InputFile, source: Source, form: str, records: Iterable[Record]) -> None:
        name = _fingerprint(file, source)
        done = self._db.execute("SELECT records FROM imports WHERE source = ?", (name,)).fetchone()
        skip = int(done[0]) if done else 0
        with transaction(self._db):
            reading, known = statements.begin(self._db, str(file.path.resolve()), form, own=True, resumed=bool(skip))
        # What is read again is compared from the beginning; only a first reading records how far it got.
        skip = 0 if known else skip
        count = 0
        batch = _Batch()
        remainder = ""
        whole = True
        try:
            for record in records:
                if isinstance(record, Remainder):
                    remainder = record.text
                    continue
                count += 1
                if isinstance(record, Problem):
                    whole = whole and not record.damaged
                    self.outcome.skip(file.path, record.line, record.reason)
                elif isinstance(record, Paper) and not (record.title or record.ids or record.id or record.verbatim):
                    self.outcome.skip(file.path, None, f"record {count} has neither a title nor an id")
                else:
                    self._count(record)
                    if count > skip:
                        batch.append(record, count)
                if batch.full():
                    self._commit(batch, reading, None if known else (name, count), known)
                    self._progress.update(self._bytes_read + source.position())
                    batch = _Batch()
        except InputError as error:
            whole = False
            self.outcome.skip(file.path, None, str(error))
        self._commit(batch, reading, known=known)
        self._end(file, reading, name, remainder, whole)

    def _end(self, file: InputFile, reading: Reading, name: str, remainder: str, whole: bool) -> None:
        """Come to the end of a file: match what was set aside, and deal with what the file no longer has."""
        gone = {each.key: each for each in statements.gone(self._db, reading)}
        former = [(statements.record(self._db, each), each) for each in gone.values()]
        edited = pair(self._intake.unmatched, former)
        for paper, statement in self._intake.unmatched:
            with transaction(self._db):
                if (prior := edited.get(id(paper))) is not None:
                    del gone[prior.key]
                    self._intake.correct(prior, statement, paper)
                else:
                    self.outcome.new_papers += self._intake.take([paper], reading, [statement.position])
        self._intake.unmatched.clear()
        self.outcome.changed, self._intake.changed = self.outcome.changed + self._intake.changed, 0
        self.outcome.gone += [Gone(str(file.path), each.key, paper.title) for paper, each in former if each.key in gone]
        if gone and self._sync and whole:
            self._withdraw(gone.values())
            self.outcome.removed += len(gone)
        elif gone and self._sync:
            self.outcome.notes.append(
                f"{file.path} has records that cannot be read, so nothing was removed; correct them and add it again"
            )
        with transaction(self._db):
            self._db.execute("DELETE FROM imports WHERE source = ?", (name,))
            statements.finish(self._db, reading, remainder)
            left = {statements.current(self._db, each).paper for each in gone.values()} if not (self._sync and whole) else set()
            self._intake.put_together(left - {statements.NO_PAPER})
        self._indexer.advance()

    def _withdraw(self, gone: Iterable[Statement]) -> None:
        """Take out records, each with its paper if no other record describes it."""
        with transaction(self._db):
            for statement in gone:
                self._intake.withdraw(statement)

    def _count(self, record: Paper | Context) -> None:
        if isinstance(record, Paper):
            self.outcome.papers += not is_supplement(record)
            self.outcome.contexts += len(record.contexts)
        else:
            self.outcome.contexts += 1

    def _commit(
        self, batch: _Batch, reading: Reading | None, progress: tuple[str, int] | None = None, known: bool = False
    ) -> None:
        """One transaction: the records, and how far the file has been read, if it is read for the first time."""
        with transaction(self._db):
            new = self._intake.take(batch.records, reading, batch.positions, set_aside=known)
            if progress is not None:
                self._db.execute("INSERT OR REPLACE INTO imports VALUES (?, ?)", progress)
        self.outcome.new_papers += new
        self._indexer.advance()

    def index(self) -> None:
        """Bring the index up to what has been committed."""
        waiting = int(self._db.execute("SELECT count(*) FROM dirty").fetchone()[0])
        if waiting:
            self._progress.start("indexing", waiting, "papers")
            self._indexer.refresh(self._progress)


def _undefined(names: list[str]) -> str:
    """What to say of abbreviations that nothing defines."""
    listed = ", ".join(names[:_LISTED_NAMES]) + (f" and {len(names) - _LISTED_NAMES:,} more" if names[_LISTED_NAMES:] else "")
    words = "an abbreviation" if len(names) == 1 else "abbreviations"
    return f"{words} that no @string defines: {listed}; add the file that does so together with this one"


def _fingerprint(file: InputFile, source: Source) -> str:
    """Fingerprint of the content: an interrupted add resumes only if the file is still the same."""
    digest = blake2b(source.head, digest_size=12).hexdigest()
    return f"{file.namespace}:{file.path.name}:{source.size}:{digest}"
