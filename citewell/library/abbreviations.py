"""The ``@string`` abbreviations of BibTeX that a user's files define for one another.

A paper with ``bibliography{journals,refs}`` uses in ``refs.bib`` what ``journals.bib`` defines. So a file is read with the
abbreviations of the files that are added with it and of those that were added before; its own come first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from citewell.sources.bibtex_entries import abbreviations
from citewell.sources.plain_text import chunks
from citewell.sources.source import InputError, Source

_SUFFIXES = (".bib", ".bibtex")
_MAX_BYTES = 64 * 1024 * 1024
_WORD = b"@string"


class SharedAbbreviations:
    """What files define, by folder; names are in lower case."""

    def __init__(self, by_folder: Mapping[Path, Mapping[str, str]]) -> None:
        self._by_folder = by_folder
        self._of: dict[Path, dict[str, str]] = {}

    def of(self, path: Path) -> dict[str, str]:
        """What a file may use: what its own folder defines comes before what other folders do."""
        folder = path.absolute().parent
        if folder not in self._of:
            known: dict[str, str] = {}
            for _, defined in sorted(self._by_folder.items(), key=lambda pair: pair[0] != folder):
                known = {**defined, **known}
            self._of[folder] = known
        return self._of[folder]


def shared_abbreviations(db: sqlite3.Connection, files: Sequence[Path]) -> SharedAbbreviations:
    """What the library's own files and these define; of two definitions in one folder the first counts."""
    by_folder: dict[Path, dict[str, str]] = {}
    if any(path.suffix.lower() in _SUFFIXES for path in files):
        for folder, text in (*_given(files), *_stored(db)):
            known = by_folder.setdefault(folder, {})
            known |= {**abbreviations(text, known), **known}
    return SharedAbbreviations(by_folder)


def _given(files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for path in files:
        if path.suffix.lower() in _SUFFIXES and path.is_file() and path.stat().st_size <= _MAX_BYTES:
            try:
                if _WORD in path.read_bytes().lower():
                    with Source(path) as source:
                        yield path.absolute().parent, "".join(chunks(source))
            except (InputError, OSError):
                continue  # adding the file says what is wrong with it


def _stored(db: sqlite3.Connection) -> Iterator[tuple[Path, str]]:
    """What the library's files have outside of records, where it defines anything."""
    texts: dict[str, list[str]] = {}
    query = (
        "SELECT name, lead FROM statements JOIN sources ON sources.num = source"
        " WHERE own AND format = 'BibTeX' AND lead LIKE '%@string%' ORDER BY source, position"
    )
    for name, lead in db.execute(query):
        texts.setdefault(name, []).append(lead)
    query = "SELECT name, remainder FROM sources WHERE own AND format = 'BibTeX' AND remainder LIKE '%@string%' ORDER BY num"
    for name, remainder in db.execute(query):
        texts.setdefault(name, []).append(remainder)
    for name, parts in texts.items():
        yield Path(name).parent, "\n".join(parts)
