"""What a record gives besides the fields of its paper: references, contexts and sentences; and how they are withdrawn.

The store keeps these by paper, from all sources together. For each record that gives any, a few numbers are kept, by which a
later reading of its source shows what is gone. The citations of a paper are then made again from the contexts that are left and
from the record as it is now.

Where another record of the same paper lists references too, the store cannot tell whose a citation is, so all stay. The same
holds for sentences.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from citewell.hashing import hash64
from citewell.library.store import rows, statements
from citewell.library.store.batch import CITED, CITED_BY, CITES, CITING, OWN
from citewell.library.store.statements import Statement
from citewell.papers import Paper, Sentence

_encoder = msgspec.json.Encoder()


class Given(NamedTuple):
    """What one record gives, as hashes."""

    references: int = 0
    """Of all references together; 0 for none."""
    sentences: int = 0
    contexts: frozenset[int] = frozenset()
    """Of each context."""
    known: bool = True
    """False for records that were stored before any of this was."""


NOTHING = Given()
UNKNOWN = Given(known=False)


def of_record(paper: Paper) -> Given:
    if not (paper.references or paper.sentences or paper.contexts):
        return NOTHING
    return Given(
        hash64(_encoder.encode(paper.references).decode()) if paper.references else 0,
        _sentences_hash(paper.sentences) if paper.sentences else 0,
        frozenset(_context_hash(context.id, context.text) for context in paper.contexts),
    )


def load(db: sqlite3.Connection, each: Iterable[Statement]) -> dict[tuple[int, str], Given]:
    """What the records of stored statements gave, by source and key."""
    names = [(statement.source, statement.key) for statement in each]
    listed = _encoder.encode(names).decode()
    stored = db.execute(
        "SELECT source, key, hashes FROM given WHERE (source, key) IN"
        " (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))",
        (listed,),
    )
    loaded = dict.fromkeys(names, NOTHING) | {(source, key): _decoded(hashes) for source, key, hashes in stored}
    return {name: UNKNOWN if name[0] == statements.UNKNOWN else given for name, given in loaded.items()}


def store(db: sqlite3.Connection, given: Mapping[tuple[int, str], Given]) -> None:
    """Store what records give."""
    encoded = [(source, key, _encoded(each)) for (source, key), each in given.items() if each != NOTHING]
    db.executemany("INSERT OR REPLACE INTO given VALUES (?, ?, ?)", encoded)
    db.executemany("DELETE FROM given WHERE source = ? AND key = ?", [name for name, each in given.items() if each == NOTHING])


def withdraw(db: sqlite3.Connection, statement: Statement, before: Given, now: Given) -> None:
    """Take out what a record gave before and no longer gives; the citations that it still gives are to be added again."""
    if not before.known or before == now:
        return
    about = [each for each in statements.about(db, statement.paper) if each.num != statement.num]
    others = load(db, about).values()
    if not all(other.known for other in others):
        return
    dirty: dict[int, int] = defaultdict(int)
    gone = before.contexts - now.contexts - frozenset(hashed for other in others for hashed in other.contexts)
    if gone:
        _remove_contexts(db, statement.paper, gone, dirty)
    if (gone or before.references != now.references) and not any(other.references for other in others):
        _forget_references(db, statement.paper, dirty)
    if before.sentences != now.sentences and not any(other.sentences for other in others):
        db.execute("DELETE FROM sentences WHERE paper = ?", (statement.paper,))
        db.execute("UPDATE papers SET details = json_remove(details, '$.sentences') WHERE num = ?", (statement.paper,))
        dirty[statement.paper] |= OWN
    rows.mark_dirty(db, dirty)


def _remove_contexts(db: sqlite3.Connection, citing: int, gone: frozenset[int], dirty: dict[int, int]) -> None:
    for num, name, text in db.execute("SELECT num, id, text FROM contexts WHERE citing = ?", (citing,)).fetchall():
        if _context_hash(name, text) in gone:
            for (cited,) in db.execute("SELECT cited FROM targets WHERE context = ? AND cited IS NOT NULL", (num,)).fetchall():
                dirty[cited] |= CITED
            db.execute("DELETE FROM targets WHERE context = ?", (num,))
            db.execute("DELETE FROM contexts WHERE num = ?", (num,))
            dirty[citing] |= CITING


def _forget_references(db: sqlite3.Connection, citing: int, dirty: dict[int, int]) -> None:
    """Leave the citations that stand in contexts."""
    dirty[citing] |= CITES
    for cited in rows.linked(db, "citing", citing):
        dirty[cited] |= CITED_BY
    db.execute("DELETE FROM citations WHERE citing = ?", (citing,))
    db.execute(
        "INSERT INTO citations SELECT DISTINCT citing, cited FROM targets"
        " WHERE citing = ? AND cited IS NOT NULL AND cited <> ?",
        (citing, citing),
    )
    db.execute(
        "DELETE FROM waiting WHERE citing = ? AND reference NOT IN (SELECT reference FROM targets WHERE citing = ?)",
        (citing, citing),
    )


def _sentences_hash(sentences: list[Sentence]) -> int:
    """The hash of sentences without paragraphs is that of their texts, as in libraries that had no paragraphs."""
    paragraphs = [",".join(str(each.paragraph) for each in sentences)] if any(each.paragraph for each in sentences) else []
    return hash64(*(each.text for each in sentences), *paragraphs)


def _context_hash(name: str, text: str) -> int:
    return hash64(name, text)


def _encoded(given: Given) -> bytes:
    return np.array([given.references, given.sentences, *sorted(given.contexts)], "<i8").tobytes()


def _decoded(hashes: bytes | None) -> Given:
    if hashes is None:
        return UNKNOWN
    references, sentences, *contexts = np.frombuffer(hashes, "<i8").tolist()
    return Given(references, sentences, frozenset(contexts))
