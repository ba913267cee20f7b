"""A library on disk: any number of readers, one writer at a time."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from citewell.arrays import DamagedFileError
from citewell.errors import CitewellError
from citewell.library.index import manifest as manifests
from citewell.library.index.index import Index
from citewell.library.index.postings import INDEXED
from citewell.library.store import schema
from citewell.library.store.store import Store
from citewell.papers import Context, Paper
from citewell.progress import SILENT, Progress

# What writes and checks is imported by the methods that do so: `suggest` starts faster without it.
if TYPE_CHECKING:
    from citewell.library.add import Outcome
    from citewell.library.check import Verdict
    from citewell.library.index.indexer import Indexer


class Library:
    """The papers of one folder, and everything derived from them.

    The folder is opened when it is first read. What another process commits later becomes visible with `reload`.

    >>> library = Library("my-papers")                                       # doctest: +SKIP
    >>> library.add(["refs.bib"])                                            # doctest: +SKIP
    >>> len(library), "arxiv:1706.03762" in library                          # doctest: +SKIP
    >>> library.paper("arxiv:1706.03762").title                              # doctest: +SKIP
    >>> [paper.title for paper in library if paper.year == 2017]             # doctest: +SKIP
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    # -- reading ----------------------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        """The papers, citations and contexts as they were added (SQLite)."""
        return Store.open(self.folder)

    @cached_property
    def index(self) -> Index:
        """The index derived from the store: postings and citation graph."""
        return Index.open(self.folder)

    def reload(self) -> None:
        """Close the files; the next read sees what has been committed since."""
        if "store" in self.__dict__:
            self.store.close()
        self.__dict__.pop("store", None)
        self.__dict__.pop("index", None)

    close = reload

    def __enter__(self) -> Library:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return f"Library({str(self.folder)!r}, {len(self):,} papers)"
        except (CitewellError, sqlite3.Error):
            return f"Library({str(self.folder)!r}, not readable)"

    def __len__(self) -> int:
        """The number of papers."""
        return int(self.store.db.execute("SELECT count(*) FROM papers").fetchone()[0])

    def __iter__(self) -> Iterator[Paper]:
        """Every paper with its references, contexts and sentences, in the order of addition."""
        return self.store.each()

    def __contains__(self, name: object) -> bool:
        """Whether a paper has this identifier (DOI, arXiv id, a data set's id, a citation key, ...)."""
        return isinstance(name, str) and self.store.find(name) is not None

    def paper(self, name: str) -> Paper:
        """The complete record of a paper, by any of its identifiers (DOI, arXiv id, a data set's id, a citation key, ...)."""
        return self.store.whole(self.number(name))

    def number(self, name: str) -> int:
        """The number of a paper, by any of its identifiers."""
        number = self.store.find(name)
        if number is None:
            raise CitewellError(f"{self.folder} has no paper {name!r}; 'citewell search' finds papers by their words")
        return number

    def info(self) -> dict[str, Any]:
        """Counts, size, and the state of the index."""
        counts = self.store.counts()
        segments = manifests.load(self.folder).segments
        return {
            **counts,
            "segments": len(segments),
            "postings": {name: sum(entry.texts for entry in segments if entry.field == name) for name in INDEXED},
            "bytes": _size(self.folder),
            "folder": str(self.folder),
        }

    def check(self) -> Verdict:
        """Verify the store, the index, and that they agree."""
        from citewell.library.check import check

        with _clear_errors(self.folder):
            return check(self.folder)

    # -- writing ----------------------------------------------------------------------------------------------------

    def add(
        self,
        paths: Iterable[str | os.PathLike[str]],
        progress: Progress = SILENT,
        distractors: bool = False,
        sync: bool = False,
    ) -> Outcome:
        """Add files, folders and data sets; returns what was added, changed and skipped.

        A file that was added before is compared with what it said then. `sync`: remove the records that it no longer has.
        """
        from citewell.library.add import Adding, input_files

        given = [Path(path) for path in paths]
        files = input_files(given, distractors)
        with self._writing() as (db, indexer):
            adding = Adding(db, indexer, progress, sync)
            adding.files(files)
            adding.vanished(path for path in given if path.is_dir())
            adding.index()
            return adding.outcome

    def take(self, records: Iterable[Paper | Context], progress: Progress = SILENT, source: str = "") -> Outcome:
        """Add records made by a program, or fetched from a service called `source`.

        With a source, a record that is taken again replaces what the source said before.
        """
        from citewell.library.add import Adding

        with self._writing() as (db, indexer):
            adding = Adding(db, indexer, progress)
            adding.take(records, source)
            adding.index()
            return adding.outcome

    def remove(self, names: Sequence[str]) -> int:
        """Remove papers; returns how many. Citations of them resolve again if they are added again."""
        from citewell.library.store import removal

        with self._writing() as (db, indexer):
            store = Store(db, self.folder)
            nums = []
            for name in names:
                num = store.find(name)
                if num is None:
                    raise CitewellError(f"{self.folder} has no paper {name!r}; nothing was removed")
                nums.append(num)
            with schema.transaction(db):
                removal.remove(db, list(dict.fromkeys(nums)))
            indexer.refresh()
            return len(set(nums))

    def merge(self, names: Sequence[str]) -> None:
        """Make one paper of several; every key and identifier still finds it, also after their files are added again."""
        from citewell.library.store.intake import Intake

        nums = sorted({self.number(name) for name in names})
        if len(nums) < 2:
            raise CitewellError("these names are of one paper already; name at least two papers")
        with self._writing() as (db, indexer):
            with schema.transaction(db):
                Intake(db).join(nums, uuid4().hex[:12])
            indexer.refresh()

    def split(self, key: str) -> None:
        """Make the record with this key a paper of its own, also after its file is added again."""
        from citewell.library.store import statements
        from citewell.library.store.intake import Intake

        about = statements.about(self.store.db, self.number(key))
        records = [each for each in about if not each.supplement]
        chosen = [each for each in records if each.key == key]
        if len(records) < 2:
            raise CitewellError(f"{key} is not merged: only one record describes it")
        if not chosen:
            keys = ", ".join(each.key for each in records if each.source != statements.UNKNOWN)
            raise CitewellError(f"{key} is no key of a record; the paper was merged from {keys}: name one of these")
        with self._writing() as (db, indexer):
            with schema.transaction(db):
                intake = Intake(db)
                intake.separate(chosen[-1], uuid4().hex[:12])
                intake.join_supplements()
            indexer.refresh()

    def rebuild(self, progress: Progress = SILENT) -> None:
        """Build the index again from the store."""
        if not (self.folder / schema.FILE).exists():
            raise CitewellError(f"there is no library in {self.folder}")
        with self._writing(fresh_index=True) as (db, indexer):
            progress.start("indexing", int(db.execute("SELECT count(*) FROM dirty").fetchone()[0]), "papers")
            indexer.refresh(progress)

    @contextmanager
    def _writing(self, fresh_index: bool = False) -> Iterator[tuple[sqlite3.Connection, Indexer]]:
        from citewell.library.garbage import fewer_collections
        from citewell.library.index.indexer import Indexer
        from citewell.library.lock import writing

        with _clear_errors(self.folder), fewer_collections():
            self.folder.mkdir(0o700, parents=True, exist_ok=True)  # a folder that exists keeps its permissions
            with writing(self.folder):
                self.close()
                if not (self.folder / schema.FILE).exists():
                    manifests.commit(self.folder, manifests.Manifest())
                db = schema.create(self.folder)
                try:
                    if fresh_index or not manifests.is_readable(self.folder):
                        # First the list of what to index: if this process is killed in between, the next writer indexes it.
                        _list_all(db)
                        manifests.commit(self.folder, manifests.Manifest())
                    indexer = Indexer(self.folder, Store(db, self.folder))
                    try:
                        yield db, indexer
                        indexer.close()
                    except BaseException:
                        indexer.abandon()
                        raise
                finally:
                    db.close()


def _list_all(db: sqlite3.Connection) -> None:
    """Mark every text of every paper as not indexed."""
    with schema.transaction(db):
        for bit, papers in (
            (1, "SELECT num FROM papers WHERE true"),
            (2, "SELECT DISTINCT cited FROM targets WHERE cited IS NOT NULL"),
            (4, "SELECT DISTINCT citing FROM contexts WHERE true"),
            (8, "SELECT DISTINCT citing FROM citations WHERE true"),
            (16, "SELECT DISTINCT cited FROM citations WHERE true"),
        ):
            db.execute(
                f"INSERT INTO dirty (paper, fields) SELECT *, {bit} FROM ({papers}) WHERE true"
                " ON CONFLICT DO UPDATE SET fields = fields | excluded.fields"
            )


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the disk into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if "full" in str(error):
            raise CitewellError(
                f"the disk of {folder} is full; committed papers are safe: free some space and run the command again"
            ) from None
        raise CitewellError(f"the library in {folder} cannot be used: {error}; run 'citewell library check'") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CitewellError(
                f"the disk of {folder} is full; committed papers are safe: free some space and run the command again"
            ) from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise CitewellError(
                f"cannot write to {error.filename or folder}: {error.strerror}; choose another folder with --library"
            ) from None
        raise CitewellError(f"the library in {folder} cannot be used: {error}") from None
    except DamagedFileError as error:
        raise CitewellError(
            f"the index of {folder} is damaged ({error}); the papers are safe: run 'citewell library rebuild'"
        ) from None


def _size(folder: Path) -> int:
    """The bytes of all files in a folder; another process may delete files meanwhile."""
    total = 0
    for inner, _, files in os.walk(folder):  # unlike `rglob`, it skips a folder that is gone
        for name in files:
            with suppress(FileNotFoundError):
                total += Path(inner, name).stat().st_size
    return total
