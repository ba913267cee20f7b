"""Taking papers out of the store. What others say of them stays: their citations wait again, for the paper to return."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from citewell.library import rows
from citewell.library.identity import hash64, reference_keys
from citewell.library.intake import CITED, CITING, OWN
from citewell.papers import Reference


def remove(db: sqlite3.Connection, nums: Sequence[int]) -> None:
    """Remove papers with everything they say; the caller opens the transaction."""
    dirty: dict[int, int] = defaultdict(int)
    for num in nums:
        paper = rows.load(db, num).paper
        wanted = Reference([key for key in paper.ids if not key.startswith("record:")], paper.title, paper.year, paper.authors)
        keys = reference_keys(wanted) or [f"untraceable:{num}"]
        details = msgspec.json.encode(wanted).decode()
        for (citing,) in db.execute("SELECT citing FROM citations WHERE cited = ?", (num,)).fetchall():
            waiting = [(key, citing, hash64(keys[0]), paper.year, details if key is keys[0] else "") for key in keys]
            db.executemany("INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?, ?)", waiting)
        for (cited,) in db.execute(
            "SELECT DISTINCT cited FROM targets WHERE citing = ? AND cited IS NOT NULL", (num,)
        ).fetchall():
            dirty[cited] |= CITED
        db.execute("UPDATE OR REPLACE targets SET cited = NULL, reference = ? WHERE cited = ?", (hash64(keys[0]), num))
        for table, column in (
            ("papers", "num"),
            ("ids", "paper"),
            ("citations", "citing"),
            ("citations", "cited"),
            ("waiting", "citing"),
            ("targets", "citing"),
            ("contexts", "citing"),
            ("sentences", "paper"),
        ):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (num,))
        dirty[num] |= OWN | CITED | CITING
    # A file whose add was interrupted must be read from its beginning again, lest it skip what is now missing.
    db.execute("DELETE FROM imports")
    rows.mark_dirty(db, dirty)
