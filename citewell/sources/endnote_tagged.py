"""EndNote's tagged format (``.enw``), which Google Scholar and many publishers offer, and its ancestor ``refer``.

Each field begins with a percent sign and one character; a line without one continues the field. A record begins with ``%0``,
its type. In files without types, an empty line ends a record; also in those of Digital Commons, whose types follow the titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem
from citewell.sources.clean import date, listed_keywords, one_per_scheme, text, unique, untagged, year
from citewell.sources.first_line import Kind, kind
from citewell.sources.plain_text import lines
from citewell.sources.source import Source
from citewell.text.ris_names import read_name

NAME = "EndNote tagged"
PRIORITY = 35

_MAX_RECORD = 16 * 1024 * 1024
_TAG = re.compile(r"%([0-9A-Z@!#$&()*+<=>?\[\]^~]) (.*)", re.DOTALL)
_EXTRA = {
    "0": "type",
    "V": "volume",
    "N": "issue",
    "P": "pages",
    "I": "publisher",
    "C": "address",
    "7": "edition",
    "G": "language",
    "S": "series",
    "F": "citekey",
    "Z": "note",
    "9": "genre",
    "M": "accession-number",
    "L": "call-number",
    "!": "shorttitle",
    "(": "original-publication",
    "~": "database",
    "W": "database-provider",
    "+": "affiliations",
    "U": "url",
    "Q": "translated-title",
    "1": "custom1",
    "2": "custom2",
    "3": "custom3",
    "4": "custom4",
    "#": "custom5",
    "$": "custom6",
    "]": "custom7",
}
_PEOPLE = {"E": "editor", "Y": "collection-editor", "?": "translator"}
_PUBMED = re.compile(r"pubmed|medline|nlm", re.IGNORECASE)


@dataclass(slots=True)
class _Record:
    """The values of each tag, in file order; each value is a list of lines."""

    line: int
    typed: bool
    """Whether it begins with its type, so that an empty line does not end it, and another type does."""
    values: dict[str, list[list[str]]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    size: int = 0


def matches(head: bytes) -> bool:
    return kind(head) is Kind.ENDNOTE


def read(source: Source) -> Iterator[Paper | Problem]:
    for record in _records(source):
        if isinstance(record, Problem):
            yield record
            continue
        paper = _paper(record.values)
        yield paper if paper.title or paper.ids else Problem("a record with neither a title nor an identifier", record.line)


def _records(source: Source) -> Iterator[_Record | Problem]:
    record: _Record | None = None
    skipping = False
    for number, line in lines(source):
        tagged = _TAG.fullmatch(f"{line} " if len(line) == 2 else line)
        tag = tagged[1] if tagged else ""
        if not line.strip() and (skipping or (record and not record.typed)):
            skipping = False
            if record:
                yield record
                record = None
            continue
        is_first = record is None or record.typed or "0" in record.values
        if (tag == "0" and is_first) or (record is None and tag and not skipping):
            if record:
                yield record
            record, skipping = _Record(number, tag == "0"), False
        if record is None:
            continue
        record.size += len(line) + 1
        if record.size > _MAX_RECORD:
            yield Problem(f"a record is longer than {_MAX_RECORD >> 20} MiB", record.line)
            record, skipping = None, True
        elif tagged:
            record.last = [tagged[2]]
            record.values.setdefault(tag, []).append(record.last)
        elif line.strip():
            record.last.append(line)
    if record:
        yield record


class _Texts(dict[str, list[str]]):
    """The values of a record by tag, none of them empty."""

    def __init__(self, values: dict[str, list[list[str]]]) -> None:
        for tag, listed in values.items():
            if filled := [joined for value in listed if (joined := text("\n".join(value)))]:
                self[tag] = filled

    def all(self, tag: str) -> list[str]:
        """The values under a tag."""
        return self.get(tag, [])

    def first(self, *tags: str) -> str:
        """The first value under the first of `tags` that has one."""
        return next((self[tag][0] for tag in tags if tag in self), "")


def _paper(values: dict[str, list[list[str]]]) -> Paper:
    texts = _Texts(values)
    title_tag = "T" if "T" in texts else "B"
    published = date(texts.first("8")) or date(texts.first("D"))
    of_year = year(texts.first("D")) or year(texts.first("8"))
    return Paper(
        title=untagged(texts.first(title_tag)),
        abstract=untagged(texts.first("X")),
        authors=_names(texts.all("A")),
        year=of_year,
        date=published if len(published) > 4 and published.startswith(str(of_year)) else "",
        venue=texts.first("J") or (texts.first("B") if title_tag == "T" else "") or texts.first("S", "I"),
        ids=_ids(texts),
        keywords=unique(word for value in values.get("K", ()) for line in value for word in listed_keywords(text(line))),
        extra=_extra(texts),
        people={role: names for tag, role in _PEOPLE.items() if (names := _names(texts.all(tag)))},
    )


def _names(values: list[str]) -> list[Name]:
    return [name for each in values if any(name := read_name(each))]


def _ids(texts: _Texts) -> list[str]:
    ids = [canonical("doi", each) for each in texts.all("R")][:1]
    if _PUBMED.search(texts.first("~") + texts.first("W")):
        ids += [canonical("pmid", each) for each in texts.all("M")]
    ids += [recognise(link) for each in texts.all("U") for link in each.split()]
    return one_per_scheme(ids)


def _extra(texts: _Texts) -> dict[str, str]:
    extra = {name: "; ".join(unique(texts.all(tag))) for tag, name in _EXTRA.items()}
    extra["isbn" if "book" in texts.first("0").lower() else "issn"] = texts.first("@")
    return {name: value for name, value in extra.items() if value}
