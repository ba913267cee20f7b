"""Text formats that are recognised by their first line.

RIS and BibTeX records may begin anywhere in a file, after any preamble, so those readers accept a file only if it does not
begin as one of these formats: an abstract in a table may quote a BibTeX entry.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from citewell.sources.plain_text import beginning
from citewell.sources.table_columns import Header, header_of


class Kind(Enum):
    """A format that is recognised by its first line."""

    ENDNOTE = "EndNote tagged"
    WEB_OF_SCIENCE = "Web of Science"
    WEB_OF_SCIENCE_TABLE = "Web of Science, tab-delimited"
    SCOPUS = "Scopus CSV"
    ZOTERO_TABLE = "Zotero CSV"
    TABLE = "table"
    CFF = "CITATION.cff"


_TAGGED = re.compile(r"FN [^\n]+\nVR |PT [A-Z]\n(?:AU|CA|GP|BE|TI) ")
_TYPED = re.compile(r"%0 {1,4}[A-Z]")
_UNTYPED = re.compile(r"%[A-Z] \S")
_FIELDS = (re.compile(r"^%T \S", re.MULTILINE), re.compile(r"^%[0AED] \S", re.MULTILINE))
_CFF = re.compile(r"^cff-version[ \t]*:", re.MULTILINE)
_CFF_BEFORE = re.compile(r"(?:---|[a-z-]+[ \t]*:|#)")
_WEB_OF_SCIENCE_TAGS = frozenset(("PT", "AU", "TI", "SO"))
_SCOPUS = frozenset(("eid", "title"))
_ZOTERO = frozenset(("key", "itemtype", "publicationyear", "title"))


def kind(head: bytes) -> Kind | None:
    """The format that a file beginning with `head` has by its first line, or None."""
    return _kind(head[: 32 * 1024])


@lru_cache(maxsize=2)
def _kind(head: bytes) -> Kind | None:
    start = beginning(head).lstrip("\ufeff \n")
    if _TAGGED.match(start):
        return Kind.WEB_OF_SCIENCE
    if _TYPED.match(start) or (_UNTYPED.match(start) and all(field.search(start) for field in _FIELDS)):
        return Kind.ENDNOTE
    header = header_of(start)
    if header is not None:
        return _table(header)
    return Kind.CFF if _CFF_BEFORE.match(start) and _CFF.search(start) else None


def _table(header: Header) -> Kind:
    if header.delimiter == "\t" and set(header.names) >= _WEB_OF_SCIENCE_TAGS:
        return Kind.WEB_OF_SCIENCE_TABLE
    columns = set(header.keys)
    if columns >= _SCOPUS:
        return Kind.SCOPUS
    return Kind.ZOTERO_TABLE if columns >= _ZOTERO else Kind.TABLE
