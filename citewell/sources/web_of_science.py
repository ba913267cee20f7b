"""Exports of Web of Science: plain text with a field tag before each field, and tab-delimited text with the tags as header.

Both have the same tags. In plain text, each field begins with a tag of two characters, further lines are indented, and a record
goes from ``PT`` to ``ER``. Cited works (``CR``) have no title: those with a DOI become references, the others are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Problem, Reference
from citewell.sources.clean import listed_keywords, text, unique, untagged, year
from citewell.sources.first_line import Kind, kind
from citewell.sources.plain_text import lines
from citewell.sources.source import Source
from citewell.sources.table_rows import header, rows
from citewell.sources.xml import iso_date
from citewell.text.names import literal, parse

NAME = "Web of Science"
PRIORITY = 35

_MAX_RECORD = 16 * 1024 * 1024
_TAG = re.compile(r"([A-Z][A-Z0-9])(?: (.*))?", re.DOTALL)
_LISTS = frozenset("AU AF BA BF CA GP BE CR C1 C3 RI OI EM".split())
"""Tags with one value on each line, and with semicolons between values in a table."""
_AUTHORS = ("AF", "AU", "BF", "BA")
_EXTRA = {
    "VL": "volume",
    "IS": "issue",
    "AR": "article-number",
    "SN": "issn",
    "EI": "eissn",
    "BN": "isbn",
    "PU": "publisher",
    "PI": "address",
    "LA": "language",
    "SE": "series",
    "JI": "shortjournal",
    "DT": "type",
    "CT": "event",
    "TC": "times-cited",
}
_TAKEN = frozenset(
    {*_AUTHORS, *_EXTRA, "CA", "GP", "BE", "TI", "AB", "PY", "PD", "SO", "BS", "J9", "DI", "D2", "PM", "UT", "DE", "ID", "CR"}
    | {"BP", "EP", "PT", "FN", "VR", "ER", "EF", "EA"}
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s,\]]+")


@dataclass(slots=True)
class _Record:
    """The values of each tag, in file order, one for each line."""

    line: int
    values: dict[str, list[str]] = field(default_factory=dict)
    tag: str = ""
    size: int = 0


def matches(head: bytes) -> bool:
    return kind(head) in (Kind.WEB_OF_SCIENCE, Kind.WEB_OF_SCIENCE_TABLE)


def read(source: Source) -> Iterator[Paper | Problem]:
    table = kind(source.head) is Kind.WEB_OF_SCIENCE_TABLE
    for record in _rows(source) if table else _records(source):
        if isinstance(record, Problem):
            yield record
            continue
        paper = _paper(record.values)
        yield paper if paper.title or paper.ids else Problem("a record with neither a title nor an identifier", record.line)


def _rows(source: Source) -> Iterator[_Record | Problem]:
    """The records of a tab-delimited file."""
    columns = header(source)
    for row in rows(source, columns, quoted=False):
        if isinstance(row, Problem):
            yield row
            continue
        values = {}
        for tag, cell in zip(columns.names, row.cells, strict=False):
            if tag and cell.strip():
                values[tag] = [each.strip() for each in cell.split(";")] if tag in _LISTS else [cell.strip()]
        yield _Record(row.line, values)


def _records(source: Source) -> Iterator[_Record | Problem]:
    """The records of a plain text file."""
    record: _Record | None = None
    reported = False
    for number, line in lines(source):
        tagged = _TAG.fullmatch(line.rstrip())
        tag = tagged[1] if tagged else ""
        if tag == "PT" or (record is None and tag in ("AU", "TI") and not reported):
            if record:
                yield record
            record, reported = _Record(number), False
        if record is None:
            continue
        record.size += len(line) + 1
        if tag in ("ER", "EF"):
            yield record
            record = None
        elif record.size > _MAX_RECORD:
            yield Problem(f"a record is longer than {_MAX_RECORD >> 20} MiB", record.line)
            record, reported = None, True
        elif tagged:
            record.tag = tag
            record.values.setdefault(tag, []).append((tagged[2] or "").strip())
        elif record.tag and line.strip():
            record.values[record.tag].append(line.strip())
    if record:
        yield record


def _paper(values: dict[str, list[str]]) -> Paper:
    def one(*tags: str) -> str:
        return next((joined for tag in tags if (joined := text(" ".join(values.get(tag, ()))))), "")

    listed = next((values[tag] for tag in _AUTHORS if values.get(tag)), [])
    published = iso_date(one("PY"), *one("PD").split()[:2]) if one("PY") else iso_date("", "")
    ids = [canonical("doi", one("DI", "D2")), canonical("pmid", one("PM"))]
    ids.append(_accession(one("UT")))
    return Paper(
        title=untagged(one("TI")),
        abstract=untagged(one("AB")),
        authors=[*_names(listed), *_groups([*values.get("CA", ()), *values.get("GP", ())])],
        year=year(one("PY")) or year(one("EA")),
        date=published if len(published) > 4 else "",
        venue=one("SO", "J9", "BS"),
        ids=unique(each or "" for each in ids),
        keywords=unique([*_keywords(one("DE")), *_keywords(one("ID"))]),
        references=[cited for each in values.get("CR", ()) if (cited := _reference(each))],
        extra=_extra(values, one("BP"), one("EP")),
        people={"editor": editors} if (editors := _names(values.get("BE", ()))) else {},
    )


def _accession(value: str) -> str | None:
    """The number of a record in its database: ``WOS:000123``, ``MEDLINE:123``, ``INSPEC:123``."""
    database, _, number = value.rpartition(":")
    if not number:
        return None
    if database.upper() == "MEDLINE":
        return canonical("pmid", number)
    return f"{'wos' if database.upper() in ('', 'ISI') else text(database).lower()}:{number}"


def _names(values: Sequence[str]) -> list[Name]:
    """The names in `values`; the exports of MEDLINE have all of them on one line."""
    return [name for value in values for each in value.split(";") if any(name := parse(text(each)))]


def _groups(values: Sequence[str]) -> list[Name]:
    """Groups and organisations."""
    return [literal(text(each)) for each in values if text(each)]


def _keywords(line: str) -> list[str]:
    return listed_keywords(f"{line};") if line else []


def _reference(cited: str) -> Reference | None:
    """A cited work such as ``Berg A, 2015, HARBOUR STUD, V3, P1, DOI 10.1000/7``."""
    match = _DOI.search(cited)
    doi = canonical("doi", match[0]) if match else None
    if doi is None:
        return None
    first, _, rest = cited.partition(",")
    family, _, initials = text(first).rpartition(" ")
    author = str(parse(f"{family}, {initials}")) if family and initials.isupper() else text(first)
    known = author and "ANONYMOUS" not in author.upper()
    return Reference([doi], year=year(rest.partition(",")[0]), authors=[author] if known else [])


def _extra(values: dict[str, list[str]], first: str, last: str) -> dict[str, str]:
    extra = {name: text(" ".join(values.get(tag, ()))) for tag, name in _EXTRA.items()}
    extra["pages"] = "-".join(filter(None, (first, last))) or text(" ".join(values.get("PS", ())))
    for tag, listed in values.items():
        if tag not in _TAKEN and (name := text(tag).lower()):
            extra[name] = text(("; " if tag in _LISTS else " ").join(listed))
    return {name: value for name, value in extra.items() if value}
