"""Zotero's CSV export: one row per item, with the fields of its database as columns."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.papers import Paper, Problem
from citewell.sources.clean import text
from citewell.sources.first_line import Kind, kind
from citewell.sources.source import Source
from citewell.sources.table_columns import Header, key
from citewell.sources.table_rows import Row, header, rows
from citewell.sources.zotero_items import NOT_PAPERS, Creator, paper
from citewell.text.ris_names import read_name

NAME = "Zotero CSV"
PRIORITY = 35

_FIELDS = {
    key(name): name
    for name in (
        *("title", "publicationTitle", "conferenceName", "ISBN", "ISSN", "DOI", "url", "abstractNote", "date", "pages"),
        *("issue", "volume", "journalAbbreviation", "series", "publisher", "place", "language", "rights", "extra", "edition"),
    )
}
_FIELDS |= {"type": "thesisType"}
_TAGS = ("manualtags", "automatictags")
_ROLES = ("author", "editor", "translator", "contributor", "bookauthor", "programmer", "inventor")


def matches(head: bytes) -> bool:
    return kind(head) is Kind.ZOTERO_TABLE


def read(source: Source) -> Iterator[Paper | Problem]:
    columns = header(source)
    for row in rows(source, columns):
        if isinstance(row, Problem):
            yield row
            continue
        item = _paper(row, columns)
        if item is not None:
            yield item if item.title else Problem("the item has no title", row.line)


def _paper(row: Row, columns: Header) -> Paper | None:
    cells = dict(zip(columns.keys, row.cells, strict=False))
    kind_of_item = text(cells.get("itemtype", ""))
    if kind_of_item in NOT_PAPERS:
        return None
    fields = {name: cells.get(column, "") for column, name in _FIELDS.items()}
    fields["date"] = cells.get("date", "") or cells.get("publicationyear", "")
    creators = [
        Creator(role, name) for role in _ROLES for each in cells.get(role, "").split(";") if any(name := read_name(text(each)))
    ]
    tags = [tag.strip() for column in _TAGS for tag in cells.get(column, "").split(";")]
    return paper(text(cells.get("key", "")), kind_of_item, fields, creators, tags)
