"""Zotero's database, ``zotero.sqlite``, read while Zotero runs and never modified.

Zotero keeps its file locked, and since version 10 the latest changes are in the ``-wal`` file next to it. So the database is
copied together with its journal, and the copy is read: Zotero never has to wait for a lock, and no committed change is missing.
Attachments, notes, annotations, feeds and items in the bin are left out. Citation keys of Better BibTeX come from the item or
from ``better-bibtex.sqlite`` in the same folder.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citewell.errors import CitewellError
from citewell.papers import Paper, Problem
from citewell.sources.clean import text
from citewell.sources.source import InputError, Source
from citewell.sources.unreadable import database_advice
from citewell.sources.zotero_items import NOT_PAPERS, Creator, creator, paper

NAME = "Zotero"
PRIORITY = 100
FILE = "zotero.sqlite"
_KEYS_FILE = "better-bibtex.sqlite"
_TABLES = frozenset(("items", "itemData", "itemDataValues", "fields", "itemTypes", "creators", "itemCreators", "deletedItems"))
# For a database with damaged names, Python fails to decode SQLite's error messages.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
_CHUNK = 500
_SINGLE_FIELD = 1
"""The ``fieldMode`` of a creator whose whole name is in one field."""
_ATTEMPTS = 5

Name = TypeVar("Name", int, str)
"""Identifies a collection: a number in the database, a key in the API."""


def matches(head: bytes) -> bool:
    """Accept any SQLite file; its tables are unknown until it is opened, so `read` rejects other databases."""
    return head.startswith(b"SQLite format 3\0")


def read(source: Source) -> Iterator[Paper | Problem]:
    if not source.compressed:
        yield from items(source.path)
        return
    with tempfile.TemporaryDirectory(prefix="citewell-") as folder:
        with (Path(folder) / FILE).open("wb") as unpacked:
            shutil.copyfileobj(source.stream, unpacked)
        yield from items(Path(folder) / FILE)


def items(path: Path, collection: str = "", tag: str = "") -> Iterator[Paper | Problem]:
    """Every item of the database at `path`, or those of one collection (with its subcollections) or with one tag."""
    with _copied(path) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables >= _TABLES:
            raise InputError(database_advice(tables))
        try:
            citekeys = _citekeys(path)
            if isinstance(citekeys, Problem):
                yield citekeys
                citekeys = {}
            yield from _items(db, tables, citekeys, collection, tag)
        except _DAMAGE as error:
            raise InputError(f"Zotero's database is damaged ({error}); Zotero keeps an older copy in {FILE}.bak") from None


@contextmanager
def _copied(path: Path) -> Iterator[sqlite3.Connection]:
    """A consistent copy of the database, separate from the one that Zotero writes to."""
    with tempfile.TemporaryDirectory(prefix="citewell-") as folder:
        copy = Path(folder) / "copy.sqlite"
        for attempt in range(_ATTEMPTS):
            before = _state(path)
            for ending in ("", "-wal", "-journal"):
                copy.with_name(copy.name + ending).unlink(missing_ok=True)
                if (part := path.with_name(path.name + ending)).exists():
                    shutil.copyfile(part, copy.with_name(copy.name + ending))
            if before == _state(path):
                break
            time.sleep(0.2 * (attempt + 1))
        else:
            raise InputError("Zotero is writing to it; try again later")
        try:
            with closing(sqlite3.connect(copy, isolation_level=None)) as db:
                db.text_factory = lambda raw: raw.decode("utf-8", "replace")
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("SELECT count(*) FROM sqlite_master")
                yield db
        except _DAMAGE as error:
            raise InputError(f"the SQLite file cannot be read: {error}") from None


def _state(path: Path) -> list[tuple[int, int]]:
    """Sizes and times of the files, which change whenever the database does."""
    state = []
    for ending in ("", "-wal", "-journal"):
        part = path.with_name(path.name + ending)
        if part.exists():
            status = part.stat()
            state.append((status.st_size, status.st_mtime_ns))
    return state


def _items(
    db: sqlite3.Connection, tables: set[str], citekeys: dict[int, str], collection: str, tag: str
) -> Iterator[Paper | Problem]:
    paths = _collections(db, tables)
    chosen = _listed(db, tables)
    if collection:
        chosen &= _inside(db, paths, collection)
    if tag:
        rows = db.execute("SELECT itemID FROM itemTags JOIN tags USING (tagID) WHERE name = ? COLLATE NOCASE", (tag,))
        chosen &= {item for (item,) in rows}
    ordered = sorted(chosen)
    for begin in range(0, len(ordered), _CHUNK):
        yield from _chunk(db, ordered[begin : begin + _CHUNK], paths, citekeys)


def _listed(db: sqlite3.Connection, tables: set[str]) -> set[int]:
    """The items that describe a work, without those in the bin."""
    query = "SELECT itemID, typeName FROM items JOIN itemTypes USING (itemTypeID)"
    query += " WHERE itemID NOT IN (SELECT itemID FROM deletedItems)"
    if "feeds" in tables:
        query += " AND libraryID NOT IN (SELECT libraryID FROM feeds)"
    return {item for item, kind in db.execute(query) if kind not in NOT_PAPERS}


def _chunk(
    db: sqlite3.Connection, chunk: list[int], paths: dict[int, str], citekeys: dict[int, str]
) -> Iterator[Paper | Problem]:
    among = "(SELECT value FROM json_each(?))"
    parameters = (msgspec.json.encode(chunk).decode(),)
    fields: dict[int, dict[str, object]] = defaultdict(dict)
    query = "SELECT itemID, fieldName, value FROM itemData JOIN fields USING (fieldID) JOIN itemDataValues USING (valueID)"
    for item, field, value in db.execute(f"{query} WHERE itemID IN {among}", parameters):
        fields[item][field] = value
    creators: dict[int, list[Creator]] = defaultdict(list)
    query = "SELECT itemID, creatorType, firstName, lastName, fieldMode FROM itemCreators JOIN creators USING (creatorID)"
    query += f" JOIN creatorTypes USING (creatorTypeID) WHERE itemID IN {among} ORDER BY itemID, orderIndex"
    for item, role, given, family, mode in db.execute(query, parameters):
        creators[item].append(creator(role, family, given, single=mode == _SINGLE_FIELD))
    tags = _grouped(db, f"SELECT itemID, name FROM itemTags JOIN tags USING (tagID) WHERE itemID IN {among}", parameters)
    places = _grouped(db, f"SELECT itemID, collectionID FROM collectionItems WHERE itemID IN {among}", parameters)
    query = f"SELECT itemID, key, typeName FROM items JOIN itemTypes USING (itemTypeID) WHERE itemID IN {among} ORDER BY itemID"
    for item, key, kind in db.execute(query, parameters).fetchall():
        named = [paths[place] for place in places[item] if place in paths]
        record = paper(key, kind, fields[item], creators[item], tags[item], named, citekeys.get(item, ""))
        yield record if record.title else Problem(f"item {key} has no title")


def _grouped(db: sqlite3.Connection, query: str, parameters: tuple[str]) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = defaultdict(list)
    for item, value in db.execute(query, parameters):
        groups[item].append(value)
    return groups


def _collections(db: sqlite3.Connection, tables: set[str]) -> dict[int, str]:
    """The path of every collection that is not in the bin, such as ``Birds/Gulls``."""
    query = "SELECT collectionID, parentCollectionID, collectionName FROM collections"
    if "deletedCollections" in tables:
        query += " WHERE collectionID NOT IN (SELECT collectionID FROM deletedCollections)"
    return collection_paths((number, parent, name) for number, parent, name in db.execute(query))


def collection_paths(rows: Iterable[tuple[Name, Name | None, str]]) -> dict[Name, str]:
    """The path of every collection, from its number, its parent and its name; orphans and cycles are left out."""
    known = {number: (parent, text(name)) for number, parent, name in rows}
    paths = {}
    for number in known:
        names: list[str] = []
        at: Name | None = number
        while at and at in known and len(names) <= len(known):
            at, name = known[at]
            names.append(name)
        if not at:
            paths[number] = "/".join(reversed(names))
    return paths


def within(paths: dict[Any, str], collection: str) -> set[Any]:
    """The collections called `collection`, by name or path, and their subcollections."""
    name = collection.strip("/").casefold()
    tops = [path.casefold() for path in paths.values() if name in (path.casefold(), path.rpartition("/")[2].casefold())]
    if not tops:
        listed = ", ".join(sorted(set(paths.values()))[:20]) or "none"
        raise CitewellError(f"Zotero has no collection called {collection!r}; its collections: {listed}")
    return {
        number
        for number, path in paths.items()
        if any(path.casefold() == top or path.casefold().startswith(f"{top}/") for top in tops)
    }


def _inside(db: sqlite3.Connection, paths: dict[int, str], collection: str) -> set[int]:
    chosen = within(paths, collection)
    return {item for place, item in db.execute("SELECT collectionID, itemID FROM collectionItems") if place in chosen}


def _citekeys(path: Path) -> dict[int, str] | Problem:
    """The citation keys of Better BibTeX by item number; a damaged file does not affect the papers."""
    file = path.with_name(_KEYS_FILE)
    if not file.exists():
        return {}
    try:
        with _copied(file) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'citationkey'").fetchone():
                return {}
            return {item: text(key) for item, key in db.execute("SELECT itemID, citationKey FROM citationkey")}
    except InputError as error:
        return Problem(f"{_KEYS_FILE} cannot be read, so citation keys that are not pinned are missing: {error}")
