"""A library on disk: opened for reading by anyone, for writing by one at a time."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from citewell.arrays import DamagedFileError
from citewell.errors import CitewellError
from citewell.library.add import Adding, Outcome, Progress, input_files
from citewell.library.check import Verdict, check
from citewell.library.index import manifest as manifests
from citewell.library.index.index import Index
from citewell.library.index.indexer import Indexer
from citewell.library.index.postings import INDEXED
from citewell.library.store import removal, schema
from citewell.library.store.store import Store
from citewell.papers import Context, Paper


class _Silent:
    """Progress that nobody watches."""

    def total(self, size: int) -> None: ...

    def reading(self, file: str) -> None: ...

    def read(self, position: int, records: int) -> None: ...

    def indexing(self, papers: int) -> None: ...

    def indexed(self, papers: int) -> None: ...


class Library:
    """The papers of one folder, and everything derived from them.

    >>> library = Library("my-papers")                                       # doctest: +SKIP
    >>> library.add(["refs.bib"])                                            # doctest: +SKIP
    >>> library.paper("arxiv:1706.03762").title                              # doctest: +SKIP
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    # -- reading ----------------------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        return Store.open(self.folder)

    @cached_property
    def index(self) -> Index:
        return Index.open(self.folder)

    def reload(self) -> None:
        """See what has been committed since this library was opened."""
        if "store" in self.__dict__:
            self.store.close()
        self.__dict__.pop("store", None)
        self.__dict__.pop("index", None)

    close = reload

    def __enter__(self) -> Library:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self.store.db.execute("SELECT count(*) FROM papers").fetchone()[0])

    def paper(self, name: str) -> Paper:
        """The whole record of the paper that goes by `name` (any identifier, a data set's id, a citation key)."""
        return self.store.whole(self.number(name))

    def number(self, name: str) -> int:
        found = self.store.find(name)
        if found is None:
            raise CitewellError(f"no paper is called {name!r} in {self.folder}; 'citewell search' finds papers by their words")
        return found

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
        """Whether store and index are sound and agree."""
        with _clear_errors(self.folder):
            return check(self.folder)

    # -- writing ----------------------------------------------------------------------------------------------------

    def add(
        self, paths: Iterable[str | os.PathLike[str]], progress: Progress | None = None, distractors: bool = False
    ) -> Outcome:
        """Take in files, folders and data sets; returns what was taken and what was not."""
        files = input_files([Path(path) for path in paths], distractors)
        with self._writing() as (db, indexer):
            adding = Adding(db, indexer, progress or _Silent())
            adding.files(files)
            adding.index()
            return adding.outcome

    def take(self, records: Iterable[Paper | Context], progress: Progress | None = None) -> Outcome:
        """Take in records made by a program."""
        with self._writing() as (db, indexer):
            adding = Adding(db, indexer, progress or _Silent())
            adding.take(records)
            adding.index()
            return adding.outcome

    def remove(self, names: Sequence[str]) -> int:
        """Take papers out; returns how many. What cites them waits for their return."""
        with self._writing() as (db, indexer):
            store = Store(db, self.folder)
            nums = []
            for name in names:
                found = store.find(name)
                if found is None:
                    raise CitewellError(f"no paper is called {name!r}; nothing was removed")
                nums.append(found)
            with schema.transaction(db):
                removal.remove(db, list(dict.fromkeys(nums)))
            indexer.refresh()
            return len(set(nums))

    def rebuild(self, progress: Progress | None = None) -> None:
        """Make the index anew from the store."""
        progress = progress or _Silent()
        if not (self.folder / schema.FILE).exists():
            raise CitewellError(f"there is no library in {self.folder}")
        with self._writing(fresh_index=True) as (db, indexer):
            progress.indexing(int(db.execute("SELECT count(*) FROM dirty").fetchone()[0]))
            indexer.refresh(progress.indexed)

    @contextmanager
    def _writing(self, fresh_index: bool = False) -> Iterator[tuple[sqlite3.Connection, Indexer]]:
        from citewell.library.lock import writing

        with _clear_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with writing(self.folder):
                self.close()
                if not (self.folder / schema.FILE).exists():
                    manifests.commit(self.folder, manifests.Manifest())
                db = schema.create(self.folder)
                try:
                    if fresh_index or not manifests.exists(self.folder):
                        # First the list of what to index: killed in between, the next writer goes through it all the same.
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
    """List every text of every paper as one that the index lacks."""
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
    """What the disk refuses, as one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if "full" in str(error):
            raise CitewellError(
                f"the disk of {folder} is full; what was committed is safe: free some space and run it again"
            ) from None
        raise CitewellError(f"the library in {folder} cannot be used: {error}; 'citewell library check' tells more") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CitewellError(
                f"the disk of {folder} is full; what was committed is safe: free some space and run it again"
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
    """The bytes of all files in a folder; another process may take files and folders away meanwhile."""
    total = 0
    for inner, _, files in os.walk(folder):  # which passes over a folder that is gone, as `rglob` does not
        for name in files:
            with suppress(FileNotFoundError):
                total += Path(inner, name).stat().st_size
    return total
