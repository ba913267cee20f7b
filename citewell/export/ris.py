"""RIS: one tag per line and records from ``TY`` to ``ER``, for reference managers.

What RIS has no tag for is in ``U1``, the first field for the user's own purposes, under a name of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TextIO

from citewell.export.kinds import kind
from citewell.export.naming import Citekeys, date_parts
from citewell.papers import Paper
from citewell.sources.ris import is_further_tag
from citewell.text.ris_names import write_name

_TAGS = {
    "volume": "VL",
    "issue": "IS",
    "issn": "SN",
    "isbn": "SN",
    "publisher": "PB",
    "address": "CY",
    "edition": "ET",
    "language": "LA",
    "series": "T3",
    "note": "N1",
    "article-number": "C7",
    "shorttitle": "ST",
}
_PEOPLE = {"editor": "A2", "collection-editor": "A3", "translator": "A4"}
_WRITTEN = frozenset(("type", "citekey", "pages", "url", *_TAGS))
_NAMES = frozenset(("AU", "U1", *_PEOPLE.values()))
_TYPE = re.compile(r"[A-Z]{3,8}")
_RANGE = re.compile(r"([^-]+)-([^-]+)")


def write(papers: Iterable[Paper], out: TextIO, keys: Citekeys | None = None) -> None:
    """Write papers; `keys` gives them their citation keys."""
    keys = keys or Citekeys()
    for paper in papers:
        for tag, value in _tags(paper, keys):
            # A no-break space in a name has a meaning.
            if value := " ".join(value.split(" " if tag in _NAMES else None)):
                out.write(f"{tag}  - {value}\n")
        out.write("ER  - \n\n")


def _tags(paper: Paper, keys: Citekeys) -> Iterator[tuple[str, str]]:
    own_type = paper.extra.get("type", "")
    entry_type = own_type if _TYPE.fullmatch(own_type) else kind(paper).ris
    yield "TY", entry_type
    yield "ID", keys.key(paper)
    yield "TI", paper.title
    yield from (("AU", write_name(name)) for name in paper.authors)
    yield "PY", str(paper.year or "")
    yield "DA", "/".join(f"{part:02d}" for part in date_parts(paper)) if len(paper.date) > 4 else ""
    yield "JF" if entry_type == "JOUR" or not paper.title else "T2", paper.venue  # T2 would be read as the title
    yield "AB", paper.abstract
    yield from (("KW", keyword) for keyword in paper.keywords)
    for name, tag in _TAGS.items():
        yield tag, paper.extra.get(name, "")
    for role, people in paper.people.items():
        tag, start = (_PEOPLE[role], "") if role in _PEOPLE else ("U1", f"citewell-person: {role}: ")
        yield from ((tag, f"{start}{write_name(person)}") for person in people)
    pages = paper.extra.get("pages", "")
    first_last = _RANGE.fullmatch(pages)
    yield from zip(("SP", "EP"), first_last.groups() if first_last else (pages,), strict=False)
    yield "UR", paper.extra.get("url", "")
    yield from _identified(paper.ids)
    for name, value in paper.extra.items():
        if name not in _WRITTEN:
            yield (name.upper(), value) if is_further_tag(name) else ("U1", f"citewell-field: {name}: {value}")


def _identified(ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    used = set()
    for identifier in ids:
        scheme, _, value = identifier.partition(":")
        if scheme in used or scheme not in ("doi", "pmid", "pmcid"):
            yield "U1", f"citewell-id: {identifier}"
        elif scheme == "doi":
            yield "DO", value
        elif scheme == "pmid":
            yield from (("AN", value), ("DB", "PubMed"))
        else:
            yield "C2", f"PMC{value}"
        used.add(scheme)
