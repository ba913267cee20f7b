"""Exports a library with the user's own records exactly as their files have them.

A paper that came from a file of the exported format is written as in that file, under each of its keys; every other paper is
written from what the library knows of it. A whole library also gets back what the files have between the records: comments,
abbreviations, entries that describe no work.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TextIO

from citewell.export import FORMATS, public
from citewell.export.naming import Citekeys
from citewell.library.library import Library
from citewell.library.store import statements
from citewell.library.store.statements import Statement
from citewell.papers import Paper
from citewell.sources.bibtex_entries import MONTHS, definitions, key_span, words

_READERS = {"bibtex": "BibTeX", "ris": "RIS", "csl": "CSL-JSON"}
"""The reader of each format whose records are kept as they are."""
_CROSSREF = re.compile(r"\b(?:crossref|xdata)\s*=", re.IGNORECASE)


def export(library: Library, format: str, out: TextIO, nums: Sequence[int] | None = None, merged: bool = False) -> list[str]:
    """Write a library, or the papers `nums` of it; returns notes for the user.

    `merged`: write every paper from what the library knows of it, and no record as its file has it.
    """
    if format not in _READERS:
        FORMATS[format].write(_papers(library, nums), out)
        return []
    if merged:
        FORMATS[format].write(map(public, _papers(library, nums)), out, Citekeys(reserved=_own_keys(library)))
        return []
    return _Writer(library, format, out).write(nums)


def _papers(library: Library, nums: Sequence[int] | None) -> Iterator[Paper]:
    return library.store.each() if nums is None else (library.store.whole(num) for num in nums)


def _own_keys(library: Library) -> Iterator[str]:
    """The citation keys that papers have in their sources."""
    for (name,) in library.store.db.execute("SELECT key FROM ids WHERE key >= 'key=' AND key < 'key>'"):
        yield name.removeprefix("key=")


def own_entry(library: Library, num: int) -> str:
    """The user's own BibTeX entry of a paper, if it needs nothing else of its file; else empty."""
    own = {each.num for each in statements.sources(library.store.db) if each.format == _READERS["bibtex"] and each.own}
    for statement in statements.about(library.store.db, num):
        if statement.source in own and statement.text and _stands_alone(statement.text) and not statement.supplement:
            return statement.text
    return ""


def _stands_alone(text: str) -> bool:
    """Whether an entry uses no abbreviation but those of months, and no other entry."""
    bare = {word for word in words(text) if not word.isdigit()}
    return bare <= MONTHS and not _CROSSREF.search(text)


class _Writer:
    """One export."""

    def __init__(self, library: Library, format: str, out: TextIO) -> None:
        self._library = library
        self._format = format
        self._out = out
        self._written: dict[str, tuple[int, int]] = {}
        """The source and the paper that each key was written for; keys are in lower case."""
        self._ends_line = True
        self._notes: list[str] = []

    def write(self, nums: Sequence[int] | None) -> list[str]:
        if self._format == "csl":
            self._write_items(nums)
        elif nums is None:
            self._write_all()
        else:
            self._write_chosen(nums)
        return self._notes

    def _write_all(self) -> None:
        described: set[int] = set()
        for source in self._sources():
            self._put("" if self._ends_line else "\n")
            for statement in statements.of_source(self._library.store.db, source.num):
                if not statement.text:  # a record of PubMed, which is read with RIS but is none
                    continue
                if not statement.supplement:
                    described.add(statement.paper)
                gone = statement.reading != source.complete
                self._put(statement.lead if not gone else "" if self._ends_line else "\n\n")
                self._put_entry(statement)
                self._put("\n\n" if gone else "")
            self._put(source.remainder)
        self._put_generated(num for num in _numbers(self._library) if num not in described)

    def _write_chosen(self, nums: Sequence[int]) -> None:
        own = {source.num for source in self._sources()}
        generated: list[int] = []
        for num in dict.fromkeys(nums):
            about = statements.about(self._library.store.db, num)
            entries = [each for each in about if each.source in own and each.text and not each.supplement]
            if not entries:
                generated.append(num)
            for entry in entries:
                if self._format == "bibtex":
                    self._put_definitions(entry)
                self._put_entry(entry)
                self._put("\n\n")
        self._put_generated(generated)

    def _write_items(self, nums: Sequence[int] | None) -> None:
        """CSL-JSON is one array, whatever the items are from."""
        own = {source.num for source in self._sources()}
        before = "["
        for num in _numbers(self._library) if nums is None else dict.fromkeys(nums):
            items = [each.text for each in statements.about(self._library.store.db, num) if each.source in own and each.text]
            if not items:
                text = io.StringIO()
                FORMATS["csl"].write([public(self._library.store.whole(num))], text)
                items = [text.getvalue().strip()[1:-1].strip()]
            for item in dict.fromkeys(items):
                self._out.write(f"{before}\n{item}")
                before = ","
        self._out.write("[]\n" if before == "[" else "\n]\n")

    def _sources(self) -> list[statements.SourceFile]:
        reader = _READERS[self._format]
        return [each for each in statements.sources(self._library.store.db) if each.format == reader and each.own]

    def _put(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._ends_line = text.endswith("\n")

    def _put_entry(self, statement: Statement) -> None:
        """Write a record as it is; if another paper has its key already, under a new one."""
        text = statement.text
        if self._format == "bibtex" and not statement.supplement:
            begin, end = key_span(text)
            key = text[begin:end]
            if not key:
                self._put(text)
                return
            source, paper = self._written.setdefault(key.lower(), (statement.source, statement.paper))
            if source != statement.source:
                if paper == statement.paper:
                    return  # another file describes the same paper under the same key
                new = Citekeys(self._written, _own_keys(self._library)).key(Paper(extra={"citekey": key}))
                self._written[new.lower()] = (statement.source, statement.paper)
                self._notes.append(f"two papers have the key {key}; the second is written as {new}")
                text = text[:begin] + new + text[end:]
        self._put(text)

    @cached_property
    def _definitions(self) -> dict[str, dict[str, str]]:
        """The ``@string`` entries of each file, by its path."""
        defined = {}
        for source in self._sources():
            leads = [each.lead for each in statements.of_source(self._library.store.db, source.num)]
            defined[source.name] = definitions("".join((*leads, source.remainder)))
        return defined

    def _definitions_for(self, statement: Statement) -> dict[str, str]:
        """The ``@string`` entries that an entry may use: those of its folder come before those of other files."""
        folder = next((Path(source.name).parent for source in self._sources() if source.num == statement.source), Path())
        known: dict[str, str] = {}
        for path in sorted(self._definitions, key=lambda path: Path(path).parent != folder):
            known = self._definitions[path] | known
        return known

    def _put_definitions(self, statement: Statement) -> None:
        """Write the abbreviations that an entry uses."""
        used = words(statement.text)
        if not used:
            return
        known = self._definitions_for(statement)
        for each in statements.of_source(self._library.store.db, statement.source):
            known |= definitions(each.lead)
            if each.position == statement.position:
                break
        for name, text in known.items():
            if name in used:
                self._put(f"{text}\n")

    def _put_generated(self, nums: Iterable[int]) -> None:
        """Write papers that have no record in this format."""
        papers = (public(self._library.store.whole(num)) for num in nums)
        for first in papers:
            self._put("\n" if not self._ends_line else "")
            FORMATS[self._format].write(chain([first], papers), self._out, Citekeys(self._written, _own_keys(self._library)))


def _numbers(library: Library) -> list[int]:
    """The numbers of all papers, in the order of addition."""
    return [num for (num,) in library.store.db.execute("SELECT num FROM papers ORDER BY num")]
