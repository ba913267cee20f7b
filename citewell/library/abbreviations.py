"""The ``@string`` abbreviations of BibTeX that a user's files define for one another.

A paper with ``bibliography{journals,refs}`` uses in ``refs.bib`` what ``journals.bib`` defines. So a file is read with the
abbreviations of the files that are added with it and of those that were added before; its own come first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from citewell.sources.bibtex_entries import abbreviations
from citewell.sources.plain_text import chunks
from citewell.sources.source import InputError, Source

_SUFFIXES = (".bib", ".bibtex")
_MAX_BYTES = 64 * 1024 * 1024
_WORD = b"@string"


def shared_abbreviations(db: sqlite3.Connection, files: Iterable[Path]) -> dict[str, str]:
    """What the library's own files and these define, by name in lower case; of two definitions the first."""
    known: dict[str, str] = {}
    for text in (*_given(files), *_stored(db)):
        known = abbreviations(text, known) | known
    return known


def _given(files: Iterable[Path]) -> Iterable[str]:
    for path in files:
        if path.suffix.lower() in _SUFFIXES and path.is_file() and path.stat().st_size <= _MAX_BYTES:
            try:
                if _WORD in path.read_bytes().lower():
                    with Source(path) as source:
                        yield "".join(chunks(source))
            except (InputError, OSError):
                continue  # adding the file says what is wrong with it


def _stored(db: sqlite3.Connection) -> Iterable[str]:
    """What the library's files have outside of records, where it defines anything."""
    query = (
        "SELECT lead FROM statements JOIN sources ON sources.num = source"
        " WHERE own AND format = 'BibTeX' AND lead LIKE '%@string%' ORDER BY source, position"
    )
    yield from (lead for (lead,) in db.execute(query))
    query = "SELECT remainder FROM sources WHERE own AND format = 'BibTeX' AND remainder LIKE '%@string%' ORDER BY num"
    yield from (remainder for (remainder,) in db.execute(query))
