"""A Zotero 7 database with a few made-up items."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE version (schema TEXT PRIMARY KEY, version INT NOT NULL);
CREATE TABLE libraries (libraryID INTEGER PRIMARY KEY, type TEXT NOT NULL, editable INT NOT NULL, filesEditable INT NOT NULL,
  version INT NOT NULL DEFAULT 0, storageVersion INT NOT NULL DEFAULT 0, lastSync INT NOT NULL DEFAULT 0,
  archived INT NOT NULL DEFAULT 0);
CREATE TABLE groups (groupID INTEGER PRIMARY KEY, libraryID INT NOT NULL UNIQUE, name TEXT NOT NULL, description TEXT NOT NULL,
  version INT NOT NULL);
CREATE TABLE feeds (libraryID INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT NOT NULL UNIQUE);
CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT, templateItemTypeID INT, display INT DEFAULT 1);
CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT, fieldFormatID INT);
CREATE TABLE creatorTypes (creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT);
CREATE TABLE items (itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL, dateAdded TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  dateModified TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, clientDateModified TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  libraryID INT NOT NULL, key TEXT NOT NULL, version INT NOT NULL DEFAULT 0, synced INT NOT NULL DEFAULT 0,
  UNIQUE (libraryID, key));
CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData (itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID));
CREATE TABLE itemNotes (itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT);
CREATE TABLE itemAttachments (itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT, contentType TEXT, charsetID INT,
  path TEXT, syncState INT DEFAULT 0, storageModTime INT, storageHash TEXT);
CREATE TABLE tags (tagID INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE itemTags (itemID INT NOT NULL, tagID INT NOT NULL, type INT NOT NULL, PRIMARY KEY (itemID, tagID));
CREATE TABLE creators (creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT,
  UNIQUE (lastName, firstName, fieldMode));
CREATE TABLE itemCreators (itemID INT NOT NULL, creatorID INT NOT NULL, creatorTypeID INT NOT NULL DEFAULT 1,
  orderIndex INT NOT NULL DEFAULT 0, PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex), UNIQUE (itemID, orderIndex));
CREATE TABLE collections (collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL, parentCollectionID INT DEFAULT NULL,
  clientDateModified TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, libraryID INT NOT NULL, key TEXT NOT NULL,
  version INT NOT NULL DEFAULT 0, synced INT NOT NULL DEFAULT 0, UNIQUE (libraryID, key));
CREATE TABLE collectionItems (collectionID INT NOT NULL, itemID INT NOT NULL, orderIndex INT NOT NULL DEFAULT 0,
  PRIMARY KEY (collectionID, itemID));
CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP NOT NULL);
CREATE TABLE deletedCollections (collectionID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP NOT NULL);
INSERT INTO version VALUES ('userdata', 123), ('system', 32);
INSERT INTO libraries (libraryID, type, editable, filesEditable)
  VALUES (1, 'user', 1, 1), (2, 'group', 1, 1), (3, 'feed', 0, 0);
INSERT INTO groups VALUES (77, 2, 'Lab', '', 1);
INSERT INTO feeds VALUES (3, 'News', 'https://example.org/feed');
INSERT INTO creatorTypes VALUES (8, 'author'), (10, 'editor'), (26, 'presenter');
"""

ITEMS: list[dict[str, Any]] = [
    {
        "type": "journalArticle",
        "title": "Counting <i>boats</i> in the harbour",
        "abstractNote": "We count boats from photographs.",
        "publicationTitle": "Journal of Harbours",
        "date": "2015-05-17 May 17, 2015",
        "DOI": "10.1000/Harbour",
        "volume": "3",
        "pages": "1-9",
        "url": "https://example.org/harbour",
        "extra": "PMID: 123\nPMCID: PMC456\nRead twice",
        "creators": [("author", "Mira", "Holt"), ("author", "Jon", "Pike"), ("editor", "Ed", "Itor")],
        "tags": ["boats", "photography"],
        "collections": [1, 2],
    },
    {
        "type": "conferencePaper",
        "title": "Gulls as a source of error",
        "proceedingsTitle": "Proceedings of the Gull Workshop",
        "date": "2017-00-00 2017",
        "extra": "Citation Key: reis2017pinned",
        "creators": [("author", "Ana", "Reis")],
        "collections": [2],
    },
    {"type": "book", "title": "Piers", "date": "2001-00-00 c. 2001", "creators": [("editor", "", "Pier Society")]},
    {
        "type": "preprint",
        "title": "Tides",
        "repository": "arXiv",
        "archiveID": "arXiv:2001.00007",
        "date": "2020-01-00 2020-01",
    },
    {"type": "presentation", "title": "A talk", "date": "next year", "creators": [("presenter", "Lee", "Moss")]},
    {"type": "journalArticle", "title": "Thrown away", "trashed": True},
    {"type": "attachment", "title": "harbour.pdf"},
    {"type": "note"},
    {"type": "annotation"},
    {"type": "journalArticle", "date": "2019-00-00 2019"},
    {"type": "journalArticle", "title": "The group's paper", "library": 2, "DOI": "10.1000/group"},
    {"type": "journalArticle", "title": "News of the day", "library": 3},
]


def make(path: Path, journal: str = "delete") -> sqlite3.Connection:
    """Write the database; the connection stays open, as Zotero's does."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.executescript(SCHEMA)
    db.executemany(
        "INSERT INTO collections (collectionID, collectionName, parentCollectionID, libraryID, key) VALUES (?, ?, ?, 1, ?)",
        [(1, "Boats", None, "AAAA1111"), (2, "Small ones", 1, "BBBB2222"), (3, "In the bin", None, "CCCC3333")],
    )
    db.execute("INSERT INTO deletedCollections (collectionID) VALUES (3)")
    for number, item in enumerate(ITEMS, 1):
        add(db, number, item)
    return db


def add(db: sqlite3.Connection, number: int, item: dict[str, Any]) -> None:
    """One more item, in one transaction."""
    db.execute("BEGIN")
    kind = _number(db, "itemTypes", "itemTypeID", "typeName", item["type"])
    library = item.get("library", 1)
    db.execute(
        "INSERT INTO items (itemID, itemTypeID, libraryID, key) VALUES (?, ?, ?, ?)",
        (number, kind, library, f"ITEM{number:04d}"),
    )
    for field, value in item.items():
        if field not in ("type", "library", "creators", "tags", "collections", "trashed"):
            named = _number(db, "fields", "fieldID", "fieldName", field)
            db.execute(
                "INSERT INTO itemData VALUES (?, ?, ?)",
                (number, named, _number(db, "itemDataValues", "valueID", "value", value)),
            )
    for order, (role, given, family) in enumerate(item.get("creators", ())):
        mode = 0 if given else 1
        db.execute("INSERT OR IGNORE INTO creators (firstName, lastName, fieldMode) VALUES (?, ?, ?)", (given, family, mode))
        (creator,) = db.execute(
            "SELECT creatorID FROM creators WHERE firstName = ? AND lastName = ?", (given, family)
        ).fetchone()
        (kind,) = db.execute("SELECT creatorTypeID FROM creatorTypes WHERE creatorType = ?", (role,)).fetchone()
        db.execute("INSERT INTO itemCreators VALUES (?, ?, ?, ?)", (number, creator, kind, order))
    for tag in item.get("tags", ()):
        db.execute("INSERT INTO itemTags VALUES (?, ?, 0)", (number, _number(db, "tags", "tagID", "name", tag)))
    for collection in item.get("collections", ()):
        db.execute("INSERT INTO collectionItems (collectionID, itemID) VALUES (?, ?)", (collection, number))
    if item.get("trashed"):
        db.execute("INSERT INTO deletedItems (itemID) VALUES (?)", (number,))
    db.execute("COMMIT")


def _number(db: sqlite3.Connection, table: str, key: str, column: str, value: object) -> int:
    row = db.execute(f"SELECT {key} FROM {table} WHERE {column} = ?", (value,)).fetchone()
    if row is None:
        return int(db.execute(f"INSERT INTO {table} ({column}) VALUES (?) RETURNING {key}", (value,)).fetchone()[0])
    return int(row[0])


def better_bibtex(path: Path, keys: dict[int, str]) -> None:
    """Better BibTeX's file, which is next to Zotero's."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE citationkey (itemID, itemKey, libraryID, citationKey, pinned)")
        db.executemany(
            "INSERT INTO citationkey VALUES (?, ?, 1, ?, 0)", [(item, f"ITEM{item:04d}", key) for item, key in keys.items()]
        )
    db.close()
