"""DBLP XML: the bibliography of computer science, one flat record a publication.

The dump writes accented letters as entities of a DTD that is never loaded here, numbers the authors that share a name, and
lists persons (<www>) beside publications; what a person reads has none of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical, recognise
from citewell.papers import Paper, Problem, Reference
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, iso_date, opening, papers, text, text_at

NAME = "DBLP XML"

_TYPES = {
    "article": "article-journal",
    "inproceedings": "paper-conference",
    "proceedings": "proceedings",
    "book": "book",
    "incollection": "chapter",
    "phdthesis": "thesis",
    "mastersthesis": "thesis",
    "data": "dataset",
}
_NAMESAKE = re.compile(r" \d{4}$", re.ASCII)
_ABS = re.compile(r"abs/(.+)", re.ASCII)


def matches(head: bytes) -> bool:
    return opening(head).root == "dblp"


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, [*_TYPES, "www"], _paper)


def _paper(record: _Element) -> Paper | None:
    if record.tag == "www":
        return None
    key, title = record.get("key", ""), text_at(record, "title")
    if not title:
        raise RecordError(f"{key or 'the record'} has no title")
    people = _people(record, "author") or _people(record, "editor")
    links = [text(link) for link in record.iterfind("ee")]
    date = iso_date(text_at(record, "year"), text_at(record, "month"))
    informal = record.get("publtype", "").startswith("informal")
    extra = {
        "type": "article" if informal else _TYPES[record.tag],
        "pages": text_at(record, "pages"),
        "volume": text_at(record, "volume"),
        "issue": text_at(record, "number"),
        "publisher": text_at(record, "publisher"),
        "isbn": text_at(record, "isbn"),
        "series": text_at(record, "series"),
        "url": links[0] if links else _page(text_at(record, "url")),
    }
    return Paper(
        title=title if title.endswith("..") else title.removesuffix("."),
        authors=people,
        year=clean.year(date),
        date=date,
        venue=text_at(record, "journal") or text_at(record, "booktitle") or text_at(record, "school"),
        ids=clean.unique([canonical("dblp", key) or "", *(recognise(link) or "" for link in links), _preprint(record)]),
        references=[Reference([cited]) for cited in _cited(record)],
        extra={field: value for field, value in extra.items() if value},
    )


def _people(record: _Element, role: str) -> list[str]:
    return clean.unique(_NAMESAKE.sub("", text(person)) for person in record.iterfind(role))


def _page(address: str) -> str:
    return f"https://dblp.org/{address}" if address.startswith("db/") else address


def _preprint(record: _Element) -> str:
    """The arXiv id of a CoRR paper, which is its volume."""
    volume = _ABS.fullmatch(text_at(record, "volume"))
    return canonical("arxiv", volume[1]) or "" if volume and text_at(record, "journal") == "CoRR" else ""


def _cited(record: _Element) -> list[str]:
    return clean.unique(canonical("dblp", text(cite)) or "" for cite in record.iterfind("cite") if text(cite) != "...")
