"""Reads the bibliography of a draft: the files that it names, in any format that the library can import."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from citewell.draft import hayagriva
from citewell.draft.files import Folder
from citewell.papers import Draft, Paper, Place
from citewell.sources import InputError, Source, find_reader
from citewell.sources.bibtex_entries import abbreviations

_ENTRY = re.compile(r"^[ \t]*(@[ \t]*[A-Za-z][\w-]*\s*[{(]\s*([^\s,{}=]+)\s*,)", re.MULTILINE)
_END = re.compile(r"[{}]|\n[ \t]*@[A-Za-z]+[ \t]*[{(][^{}(),=\"\n]*,")


def read_bibliography(draft: Draft, names: Iterable[str], folder: Folder) -> None:
    """Add the entries of the named files to the draft."""
    known: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if (opened := folder.text(name, ".bib", ".bibtex")) is not None:
            add(draft, *opened, known)
    draft.missing = list(dict.fromkeys(folder.missing))


def add(draft: Draft, name: str, text: str, known: dict[str, str] | None = None) -> None:
    """Add the entries of one bibliography, called `name`, to the draft; existing entries stay unchanged.

    `known`: the abbreviations of the files before it, to which its own are added.
    """
    known = {} if known is None else known
    draft.sources.setdefault(name, text)
    is_yaml = name.lower().endswith(hayagriva.SUFFIXES)
    for key, paper in hayagriva.entries(text) if is_yaml else entries(text, known):
        if key not in draft.bibliography or not draft.bibliography[key].title:
            draft.bibliography[key] = paper
    if not is_yaml:
        known |= abbreviations(text, known)
    for key, place in (hayagriva.places(text, name) if is_yaml else places(text, name)).items():
        draft.entries.setdefault(key, place)


def add_works(draft: Draft, works: Sequence[Mapping[str, Any]]) -> None:
    """Add works in CSL-JSON to the draft, each under its ``id``."""
    for key, paper in entries(json.dumps(list(works), default=str)) if works else ():
        draft.bibliography.setdefault(key, paper)


def entries(text: str, known: Mapping[str, str] | None = None) -> Iterator[tuple[str, Paper]]:
    """The key and the work of each entry of a bibliography, given the abbreviations that are `known`."""
    with Source.of(text) as source:
        source.abbreviations = known or {}
        reader = find_reader(source.head)
        if reader is None:
            return
        try:
            for record in reader.read(source):
                if isinstance(record, Paper) and (key := record.extra.get("citekey") or record.id):
                    yield key, record
        except InputError:
            return


def places(text: str, name: str = "") -> dict[str, Place]:
    """The place of each entry of a BibTeX file, by key; the first one for a repeated key."""
    newlines = [match.start() for match in re.finditer("\n", text)]
    by_key: dict[str, Place] = {}
    matches = list(_ENTRY.finditer(text))
    for at, entry in enumerate(matches):
        begin = entry.start(1)
        if entry[2] not in by_key:
            limit = matches[at + 1].start() if at + 1 < len(matches) else len(text)
            by_key[entry[2]] = Place(name, begin, _end(text, entry, limit), bisect_right(newlines, begin - 1) + 1)
    return by_key


def _end(text: str, entry: re.Match[str], limit: int) -> int:
    """The end of an entry: its closing brace, or the beginning of the next entry, `limit`, where the brace is missing."""
    depth = 1
    for match in _END.finditer(text, entry.end(), limit):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.end()
        if match[0] not in "{}":
            return match.start()
    return limit
