"""Taking papers out of the store. What others say of them stays: their citations wait again, for the paper to return."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from citewell.hashing import hash64
from citewell.library.store import rows
from citewell.library.store.identity import reference_ids, reference_title, waiting_keys
from citewell.library.store.intake import CITED, CITED_BY, CITES, EVERYTHING
from citewell.papers import Reference


def remove(db: sqlite3.Connection, nums: Sequence[int]) -> None:
    """Remove papers with everything they say; the caller opens the transaction."""
    dirty: dict[int, int] = defaultdict(int)
    for num in nums:
        row = rows.load(db, num)
        paper = row.paper
        wanted = Reference([key for key in paper.ids if not key.startswith("record:")], paper.title, paper.year, paper.authors)
        keys = waiting_keys(wanted, reference_ids(wanted), reference_title(wanted))
        details = msgspec.json.encode(wanted).decode()
        for cited in rows.linked(db, "citing", num):
            dirty[cited] |= CITED_BY
        for citing in rows.linked(db, "cited", num):
            dirty[citing] |= CITES
            # A context goes on knowing its reference by the hash that it has.
            references = db.execute("SELECT DISTINCT reference FROM targets WHERE cited = ? AND citing = ?", (num, citing))
            for (reference,) in references.fetchall() or [(hash64(keys[0]),)]:
                waiting = [(key, citing, reference, paper.year, details if key is keys[0] else "") for key in keys]
                db.executemany("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?, ?)", waiting)
        db.execute("UPDATE targets SET cited = NULL WHERE cited = ?", (num,))
        spoken_of = "SELECT DISTINCT cited FROM contexts JOIN targets ON context = contexts.num WHERE contexts.citing = ?"
        for (cited,) in db.execute(spoken_of, (num,)).fetchall():
            if cited is not None:
                dirty[cited] |= CITED
        db.execute("DELETE FROM targets WHERE context IN (SELECT num FROM contexts WHERE citing = ?)", (num,))
        db.executemany("DELETE FROM ids WHERE key = ? AND paper = ?", [(key, num) for key in rows.names(row)])
        for table, column in (
            ("papers", "num"),
            ("citations", "citing"),
            ("citations", "cited"),
            ("waiting", "citing"),
            ("contexts", "citing"),
            ("sentences", "paper"),
        ):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (num,))
        dirty[num] |= EVERYTHING
    # A file whose add was interrupted must be read from its beginning again, lest it skip what is now missing.
    db.execute("DELETE FROM imports")
    rows.mark_dirty(db, dirty)
