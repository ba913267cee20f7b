"""Removing papers from the store. Citations of them become unresolved, and resolve when the paper is added again."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from citewell.hashing import hash64
from citewell.library.store import rows
from citewell.library.store.batch import CITED, CITED_BY, CITES, EVERYTHING
from citewell.library.store.identity import reference_ids, reference_title, waiting_keys
from citewell.papers import Reference


def remove(db: sqlite3.Connection, nums: Sequence[int]) -> None:
    """Remove papers with their citations, contexts and sentences; the caller opens the transaction."""
    dirty: dict[int, int] = defaultdict(int)
    for num in nums:
        row = rows.load(db, num)
        paper = row.paper
        reference_to = Reference(
            [key for key in paper.ids if not key.startswith("record:")], paper.title, paper.year, [*map(str, paper.authors)]
        )
        keys = waiting_keys(reference_to, reference_ids(reference_to), reference_title(reference_to))
        details = msgspec.json.encode(reference_to).decode()
        for cited in rows.linked(db, "citing", num):
            dirty[cited] |= CITED_BY
        for citing in rows.linked(db, "cited", num):
            dirty[citing] |= CITES
            # A context keeps the hash of its reference.
            references = db.execute("SELECT DISTINCT reference FROM targets WHERE cited = ? AND citing = ?", (num, citing))
            for (reference,) in references.fetchall() or [(hash64(keys[0]),)]:
                waiting = [(key, citing, reference, paper.year, details if key is keys[0] else "") for key in keys]
                db.executemany("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?, ?)", waiting)
        db.execute("UPDATE targets SET cited = NULL WHERE cited = ?", (num,))
        cited_query = "SELECT DISTINCT cited FROM contexts JOIN targets ON context = contexts.num WHERE contexts.citing = ?"
        for (cited,) in db.execute(cited_query, (num,)).fetchall():
            if cited is not None:
                dirty[cited] |= CITED
        db.execute("DELETE FROM targets WHERE context IN (SELECT num FROM contexts WHERE citing = ?)", (num,))
        db.executemany("DELETE FROM ids WHERE key = ? AND paper = ?", [(key, num) for key in rows.names(row)])
        db.execute("DELETE FROM given WHERE (source, key) IN (SELECT source, key FROM statements WHERE paper = ?)", (num,))
        for table, column in (
            ("papers", "num"),
            ("citations", "citing"),
            ("citations", "cited"),
            ("waiting", "citing"),
            ("contexts", "citing"),
            ("sentences", "paper"),
            ("statements", "paper"),
        ):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (num,))
        dirty[num] |= EVERYTHING
    # A file whose add was interrupted must be read from its beginning, or it would skip what is now missing.
    db.execute("DELETE FROM imports")
    rows.mark_dirty(db, dirty)
