"""The arXiv metadata snapshot (on Kaggle): one paper per line, with the date of each of its versions.

The date of a paper is that of its first version, since others could cite it from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parsedate

from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Problem
from citewell.sources.clean import Json, date, day, mapping, sequence, text, unique, year
from citewell.sources.json_records import first_record, records
from citewell.sources.source import Source
from citewell.text.accents import decode_tex_accents
from citewell.text.names import parse, parse_all, person

NAME = "arXiv snapshot"
PRIORITY = 60

_EXTRA = {"journal-ref": "journal-ref", "comments": "note", "report-no": "report-no", "license": "license"}


def matches(head: bytes) -> bool:
    keys = first_record(head).keys()
    return "id" in keys and (
        "authors_parsed" in keys or keys >= {"categories", "update_date"} or keys >= {"categories", "versions"}
    )


def read(source: Source) -> Iterator[Paper | Problem]:
    for line, record in records(source):
        if isinstance(record, Problem):
            yield record
        elif (own := canonical("arxiv", text(record.get("id")))) is None:
            yield Problem("no arXiv id", line)
        else:
            yield _paper(record, own)


def _paper(record: Json, own: str) -> Paper:
    published = _first_version(record.get("versions")) or date(record.get("update_date"))
    extra = {name: decode_tex_accents(text(record.get(field))) for field, name in _EXTRA.items()}
    extra |= {"type": "preprint", "url": f"https://arxiv.org/abs/{own.removeprefix('arxiv:')}"}
    return Paper(
        title=decode_tex_accents(text(record.get("title"))),
        abstract=decode_tex_accents(text(record.get("abstract"))),
        authors=_authors(record),
        year=year(published),
        date=published,
        venue=extra["journal-ref"] or "arXiv",
        ids=unique([own, canonical("doi", text(record.get("doi"))) or ""]),
        keywords=unique(text(record.get("categories")).split()),
        extra={name: value for name, value in extra.items() if value},
    )


def _first_version(value: object) -> str:
    """The date of the first version, from a line such as ``Mon, 2 Apr 2007 19:18:42 GMT``."""
    created = text(mapping(next(iter(sequence(value)), None)).get("created"))
    try:
        parsed = parsedate(created)
    except (ValueError, IndexError):
        return ""
    return day(*parsed[:3]) if parsed else date(created)


def _authors(record: Json) -> list[Name]:
    """Names from their parts (family, given, suffix), else from the line that lists them."""
    listed = (
        [decode_tex_accents(text(part)) for part in sequence(each)[:3]] for each in sequence(record.get("authors_parsed"))
    )
    names = [person(*parts) if any(parts[1:]) else parse(parts[0]) for parts in listed if any(parts)]
    return names or parse_all(decode_tex_accents(text(record.get("authors"))).replace(" and ", ", ").split(","))
