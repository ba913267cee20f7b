"""The tables of the store, and how a connection to them is opened.

Papers, contexts and their numbers are never reused: an index that is older or newer than the store can at worst name a paper
that is gone, never a wrong one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from citewell.errors import CitewellError

FILE = "library.sqlite"
VERSION = 3
_BEFORE_SOURCES = 2
"""The version that did not record which source said what."""

_TABLES = """
CREATE TABLE papers (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    abstract TEXT NOT NULL,
    year INTEGER,
    date TEXT NOT NULL,
    venue TEXT NOT NULL,
    title_key INTEGER,
    details TEXT NOT NULL,           -- JSON: authors, ids, keywords, extra, also, sentences, people
    cuts BLOB NOT NULL               -- where the sentences of the abstract end: 32-bit numbers, in characters
);
CREATE INDEX papers_by_title ON papers (title_key) WHERE title_key IS NOT NULL;
CREATE INDEX papers_by_venue ON papers (venue COLLATE NOCASE) WHERE venue <> '';

CREATE TABLE ids (                   -- every name a paper can be found by: scheme:value, or id=, key= or title=
    key TEXT NOT NULL,
    paper INTEGER NOT NULL,
    PRIMARY KEY (key, paper)
) WITHOUT ROWID;

CREATE TABLE citations (
    citing INTEGER NOT NULL,
    cited INTEGER NOT NULL,
    PRIMARY KEY (citing, cited)
) WITHOUT ROWID;
CREATE INDEX citations_by_cited ON citations (cited, citing);

CREATE TABLE waiting (               -- references to papers that are not here yet, one row for each key they can be known by
    key TEXT NOT NULL,
    citing INTEGER NOT NULL,
    reference INTEGER NOT NULL,      -- hash of the reference's first key
    year INTEGER,
    details TEXT NOT NULL,           -- JSON: the reference as it was given
    PRIMARY KEY (key, citing, reference)
) WITHOUT ROWID;
CREATE INDEX waiting_by_citing ON waiting (citing, reference);

CREATE TABLE contexts (
    num INTEGER PRIMARY KEY,
    key INTEGER NOT NULL UNIQUE,     -- hash of what it says and where; makes adding it twice a no-op
    citing INTEGER NOT NULL,
    id TEXT NOT NULL,
    section TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX contexts_by_citing ON contexts (citing);

CREATE TABLE targets (               -- what the marked place of a context cites
    context INTEGER NOT NULL,
    reference INTEGER NOT NULL,
    citing INTEGER NOT NULL,
    cited INTEGER,                   -- NULL while the reference waits
    PRIMARY KEY (context, reference)
) WITHOUT ROWID;
CREATE INDEX targets_by_cited ON targets (cited) WHERE cited IS NOT NULL;
CREATE INDEX targets_waiting ON targets (citing, reference) WHERE cited IS NULL;

CREATE TABLE parked (                -- contexts whose citing paper is not here yet
    key TEXT NOT NULL,
    hash INTEGER NOT NULL,
    context TEXT NOT NULL,           -- JSON
    PRIMARY KEY (key, hash)
) WITHOUT ROWID;

CREATE TABLE sentences (
    paper INTEGER NOT NULL,
    position INTEGER NOT NULL,
    section TEXT NOT NULL,
    text TEXT NOT NULL,
    paragraph INTEGER NOT NULL DEFAULT 0, -- of the full text, counted from 1; 0 where the source has none
    PRIMARY KEY (paper, position)
) WITHOUT ROWID;

CREATE TABLE dirty (                 -- papers whose index entries are older than their records
    paper INTEGER PRIMARY KEY,
    fields INTEGER NOT NULL,         -- bits, in the order of postings.FIELDS
    taken INTEGER NOT NULL DEFAULT 0 -- being indexed, and not changed since
);

CREATE TABLE imports (               -- how far an interrupted add got in each file
    source TEXT PRIMARY KEY,
    records INTEGER NOT NULL
);

CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('version', 3), ('next_paper', 1), ('next_context', 1);
"""


_SOURCES = """
CREATE TABLE sources (               -- files and services that the records are from
    num INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,       -- the path of a file, or the name of a service
    format TEXT NOT NULL,            -- the reader, such as BibTeX
    own INTEGER NOT NULL,            -- 1 for the user's own files: what they say wins over what a service says
    reading INTEGER NOT NULL,        -- how many times it has been read, the reading in progress included
    complete INTEGER NOT NULL,       -- the last reading that came to the end
    remainder TEXT NOT NULL          -- what the file has after its last record
);
INSERT INTO sources VALUES (0, '', '', 0, 0, 0, '');

CREATE TABLE statements (            -- what a source says of a paper
    num INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    key TEXT NOT NULL,               -- the name of the record in its source, such as a citation key
    paper INTEGER NOT NULL,
    position INTEGER NOT NULL,
    reading INTEGER NOT NULL,        -- the last reading that had it
    digest INTEGER NOT NULL,         -- hash of the record
    record TEXT NOT NULL,            -- JSON; empty while the paper has no other statement: its row is the record
    text TEXT NOT NULL,              -- the record exactly as the file has it, if the reader keeps it
    lead TEXT NOT NULL,              -- what the file has before it
    grouped TEXT NOT NULL DEFAULT '', -- what the user has decided: it is about the same paper as all others of this group
    UNIQUE (source, key)
);
CREATE INDEX statements_by_paper ON statements (paper);
"""


_GIVEN = """
CREATE TABLE given (                 -- what a record gives besides the fields of its paper; see given.py
    source INTEGER NOT NULL,
    key TEXT NOT NULL,
    hashes BLOB,                     -- NULL for records that were stored before this table was
    PRIMARY KEY (source, key)
) WITHOUT ROWID;
"""


def create(folder: Path) -> sqlite3.Connection:
    """Open the store for writing, making it where there is none; the caller holds the writer's lock."""
    path = folder / FILE
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA cache_size = -131072")
        db.execute("PRAGMA wal_autocheckpoint = 16384")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchone():
            _run(db, _TABLES + _SOURCES)
        elif db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone() == (_BEFORE_SOURCES,):
            _run(db, _SOURCES)
            db.execute("UPDATE meta SET value = ? WHERE name = 'version'", (VERSION,))
        if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'given'").fetchone():
            _run(db, _GIVEN)
            db.execute("INSERT INTO given SELECT source, key, NULL FROM statements")
        if not has_paragraphs(db):
            db.execute("ALTER TABLE sentences ADD COLUMN paragraph INTEGER NOT NULL DEFAULT 0")
        db.execute("COMMIT")
        _verify(db, path)
    except BaseException:
        db.close()
        raise
    return db


def has_paragraphs(db: sqlite3.Connection) -> bool:
    """Whether the store has the paragraphs of sentences; an older one gets the column when it is next opened for writing."""
    return bool(db.execute("SELECT 1 FROM pragma_table_info('sentences') WHERE name = 'paragraph'").fetchone())


def _run(db: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script inside the open transaction."""
    for statement in script.split(";\n"):
        db.execute(statement)


def read(folder: Path) -> sqlite3.Connection:
    """Open an existing store for reading, also where the folder cannot be written to."""
    path = folder / FILE
    if not path.exists():
        raise _nothing_in(folder)
    # In a folder that it may not write to, SQLite cannot make the files by which readers and a writer share a WAL database.
    # Where there is a log they are there; where there is none nobody is writing.
    log = path.with_name(f"{FILE}-wal")
    alone = not os.access(folder, os.W_OK) and not (log.exists() and log.stat().st_size)
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}", uri=True, isolation_level=None)
    try:
        if not alone and _is_interrupted(db):
            with closing(sqlite3.connect(path)) as writable:
                writable.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        _verify(db, path)
        db.execute("PRAGMA cache_size = -65536")
    except BaseException:
        db.close()
        raise
    return db


def _is_interrupted(db: sqlite3.Connection) -> bool:
    """Whether the process that made the database was killed, so that SQLite must undo what was written before."""
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        return "readonly" in str(error)  # `_verify` meets every other error again, and says what it means
    return False


def _nothing_in(folder: Path) -> CitewellError:
    return CitewellError(
        f"there is no library in {folder}: add papers with 'citewell add PATH', or name another with --library"
    )


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing: commits at the end of the block, rolls back when anything in it fails."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _verify(db: sqlite3.Connection, path: Path) -> None:
    try:
        version = db.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
            raise
        if isinstance(error, sqlite3.OperationalError) and not db.execute("SELECT 1 FROM sqlite_schema").fetchone():
            # Whoever began to make it was killed at once.
            raise _nothing_in(path.parent) from None
        if "malformed" in str(error):
            raise CitewellError(
                f"{path} is damaged ({error}); restore it from a backup, or add the papers to a new one"
            ) from None
        raise CitewellError(f"{path} is not a citewell library ({error})") from None
    if version is None or version[0] not in (_BEFORE_SOURCES, VERSION):
        raise CitewellError(
            f"{path} was written by another version of citewell; use that version, or add the papers to a new library"
        )
