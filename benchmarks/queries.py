"""Queries for the benchmarks that ask a library: its own citation contexts, else the abstracts of its papers."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

_ORDER = "{0} * 7919 % 10007, {0}"
"""An order that has nothing to do with how the papers came."""


class LibraryQuery(NamedTuple):
    """A citation context with the paper that it is from."""

    context: str
    title: str
    abstract: str
    citing: str
    """The id of that paper, which must not be suggested."""


def library_queries(library: Path, count: int) -> list[LibraryQuery]:
    """Different queries made from the papers of a library."""
    path = library / "library.sqlite"
    with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True) as db:
        rows = db.execute(
            "SELECT text, title, abstract, papers.id FROM contexts JOIN papers ON papers.num = citing"
            f" ORDER BY {_ORDER.format('contexts.num')} LIMIT ?",
            (count,),
        ).fetchall()
        if not rows:
            rows = db.execute(
                "SELECT substr(abstract, 1, 400), title, abstract, id FROM papers WHERE abstract <> ''"
                f" ORDER BY {_ORDER.format('num')} LIMIT ?",
                (count,),
            ).fetchall()
    return [LibraryQuery(text, title[:2000], abstract[:50_000], name) for text, title, abstract, name in rows]
