"""What each source says of each paper.

A record that is read from a file or fetched from a service is a statement about a paper. The paper's row is put together from
all statements about it: the user's own files come before services, an earlier source before a later one, an earlier record of a
file before a later one. So a record that changes or disappears in its source can be replaced or withdrawn, and the others
remain.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from citewell.hashing import hash64
from citewell.library.store.identity import is_supplement, paper_keys
from citewell.library.store.rows import Row, from_columns, load
from citewell.papers import Paper

UNKNOWN = 0
"""The number of the source of records whose source nobody named."""
NO_PAPER = 0
"""The number of the paper of a supplement as long as no record has its key."""
_COLUMNS = (
    "statements.num, source, own, key, paper, position, statements.reading, digest, record, text, lead, grouped,"
    " statements.reading < complete"
)
_FROM = f"SELECT {_COLUMNS} FROM statements JOIN sources ON sources.num = source"


class Reading(NamedTuple):
    """One pass over a source."""

    source: int
    own: bool
    number: int
    """1 for the first time that the source is read, and so on."""


@dataclass(slots=True)
class Statement:
    """What a source says of a paper."""

    source: int
    own: bool
    key: str
    paper: int
    position: int
    reading: int
    digest: int
    record: str
    """The record as JSON; empty while the row of the paper is the record."""
    text: str = ""
    lead: str = ""
    num: int | None = None
    """Its number in the store, once it is stored."""
    grouped: str = ""
    """The group that the user has put it in: statements of one group are about one paper, and about no other."""
    gone: bool = False
    """Whether its source did not have it any more when it was last read to the end."""

    @property
    def supplement(self) -> bool:
        """Whether it only adds to the record with its key in another file."""
        return bool(self.record) and is_supplement(decode(self.record).paper)

    @property
    def priority(self) -> tuple[bool, bool, int, int]:
        """The order in which statements about a paper count; the first wins."""
        return not self.own, self.gone, self.source, self.position

    def columns(self) -> tuple[object, ...]:
        return (
            *(self.num, self.source, self.key, self.paper, self.position, self.reading, self.digest),
            *(self.record, self.text, self.lead, self.grouped),
        )


_encoder = msgspec.json.Encoder()


def encode(row: Row) -> str:
    """A row as the record of a statement."""
    return _encoder.encode(row.columns()).decode()


def decode(record: str) -> Row:
    """The row that a record describes."""
    return from_columns(msgspec.json.decode(record))


def state(paper: Paper, reading: Reading, position: int) -> Statement:
    """The statement that a record of a source makes; whom it is about is still to be found out."""
    record = encode(Row(0, paper))
    verbatim = paper.verbatim
    return Statement(
        reading.source,
        reading.own,
        _key(paper),
        0,
        position if verbatim is None else verbatim.position,
        reading.number,
        hash64(record),
        record,
        "" if verbatim is None else verbatim.text,
        "" if verbatim is None else verbatim.lead,
    )


def has_name(paper: Paper) -> bool:
    """Whether the record has a name of its own in its source, which stays when the rest is edited."""
    return bool(paper.extra.get("citekey") or paper.id)


def _key(paper: Paper) -> str:
    return paper.extra.get("citekey") or paper.id or paper_keys(paper)[0]


# -- sources ------------------------------------------------------------------------------------------------------------


def begin(db: sqlite3.Connection, name: str, form: str, own: bool, resumed: bool) -> tuple[Reading, bool]:
    """Start to read a source, or resume; also whether it has been read before, so that its records are to be compared."""
    known = db.execute("SELECT num, reading, complete FROM sources WHERE name = ?", (name,)).fetchone()
    if known is None:
        num = db.execute(
            "INSERT INTO sources (name, format, own, reading, complete, remainder) VALUES (?, ?, ?, 1, 0, '')",
            (name, form, own),
        ).lastrowid
        assert num is not None
        return Reading(num, own, 1), False
    num, number, complete = known
    if not (resumed and number > complete):
        number += 1
    db.execute("UPDATE sources SET format = ?, own = ?, reading = ? WHERE num = ?", (form, own, number, num))
    return Reading(num, own, number), number > 1


def finish(db: sqlite3.Connection, reading: Reading, remainder: str) -> None:
    """Note that a source has been read to its end."""
    db.execute("UPDATE sources SET complete = ?, remainder = ? WHERE num = ?", (reading.number, remainder, reading.source))


def gone(db: sqlite3.Connection, reading: Reading) -> list[Statement]:
    """The statements of earlier readings that this one has not found again."""
    return _select(db, "WHERE source = ? AND statements.reading <> ? ORDER BY position", (reading.source, reading.number))


class SourceFile(NamedTuple):
    """A source as the store has it."""

    num: int
    name: str
    format: str
    own: bool
    complete: int
    """The last reading that came to the end."""
    remainder: str


def sources(db: sqlite3.Connection) -> list[SourceFile]:
    """All sources, in the order in which they were first added."""
    if not recorded(db):
        return []
    columns = db.execute("SELECT num, name, format, own, complete, remainder FROM sources WHERE num > 0 ORDER BY num")
    return [SourceFile(*each) for each in columns]


def of_source(db: sqlite3.Connection, source: int) -> Iterator[Statement]:
    """The statements of a source, in its order."""
    for columns in db.execute(f"{_FROM} WHERE source = ? ORDER BY position, statements.num", (source,)):
        yield _from_columns(columns)


def recorded(db: sqlite3.Connection) -> bool:
    """Whether the library records its sources; one of an older version does so once something is added."""
    return db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'statements'").fetchone() is not None


# -- statements ---------------------------------------------------------------------------------------------------------


def named(db: sqlite3.Connection, source: int, keys: Iterable[str]) -> dict[str, Statement]:
    """The statements of a source with these keys."""
    listed = _encoder.encode(list(keys)).decode()
    where = "WHERE source = ? AND key IN (SELECT value FROM json_each(?))"
    return {each.key: each for each in _select(db, where, (source, listed))}


def repeats(db: sqlite3.Connection, reading: Reading, key: str) -> int:
    """How many records of this key, numbered ones included, the reading has stored."""
    where = "source = ? AND (key = ? OR (key >= ? AND key < ?)) AND reading = ?"
    values = (reading.source, key, f"{key}#", f"{key}$", reading.number)
    return int(db.execute(f"SELECT count(*) FROM statements WHERE {where}", values).fetchone()[0])


def about(db: sqlite3.Connection, paper: int) -> list[Statement]:
    """The statements about a paper, in the order in which they count."""
    if not recorded(db):
        return []
    return sorted(_select(db, "WHERE paper = ?", (paper,)), key=lambda each: (each.supplement, each.priority))


def described(db: sqlite3.Connection, keys: Iterable[str]) -> dict[str, Statement]:
    """For each citation key the statement of the user's own files that counts first, of those that are about a paper."""
    keyed = "(SELECT num FROM sources WHERE own AND format IN ('BibTeX', 'CSL-JSON'))"
    where = f"WHERE key IN (SELECT value FROM json_each(?)) AND paper <> {NO_PAPER} AND source IN {keyed}"
    found = _select(db, where, (_encoder.encode(list(keys)).decode(),))
    return {each.key: each for each in sorted(found, key=lambda each: each.priority, reverse=True)}


def current(db: sqlite3.Connection, statement: Statement) -> Statement:
    """A statement as it is stored now."""
    return named(db, statement.source, [statement.key])[statement.key]


def record(db: sqlite3.Connection, statement: Statement) -> Paper:
    """The record of a statement."""
    return decode(statement.record).paper if statement.record else load(db, statement.paper).paper


def write(db: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    """Store statements, new and changed ones."""
    db.executemany(
        "INSERT OR REPLACE INTO statements (num, source, key, paper, position, reading, digest, record, text, lead,"
        " grouped) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (each.columns() for each in statements),
    )


def delete(db: sqlite3.Connection, statements: Iterable[Statement]) -> None:
    db.executemany("DELETE FROM statements WHERE num = ?", [(each.num,) for each in statements])


def _select(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Statement]:
    return [_from_columns(columns) for columns in db.execute(f"{_FROM} {where}", values)]


def _from_columns(columns: Sequence[Any]) -> Statement:
    num, source, own, key, paper, position, reading, digest, record, text, lead, grouped, gone = columns
    return Statement(source, bool(own), key, paper, position, reading, digest, record, text, lead, num, grouped, bool(gone))
