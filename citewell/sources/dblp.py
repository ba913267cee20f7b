"""DBLP XML: the bibliography of computer science, one flat record per publication.

The dump writes accented letters as entities of a DTD (which is never loaded here), numbers authors with the same name, and
lists people (<www>) next to publications. The reader resolves the entities and drops the numbers and the people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Reference
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import Fields, RecordError, iso_date, opening, papers
from citewell.text.names import parse_all

NAME = "DBLP XML"
PRIORITY = 80

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


def matches(head: bytes) -> bool:
    return opening(head).root == "dblp"


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, [*_TYPES, "www"], _paper)


def _paper(record: _Element) -> Paper | None:
    kind = record.tag.rpartition("}")[2]
    if kind == "www":
        return None
    fields = Fields(record)
    key, title = record.get("key", ""), fields.first("title")
    if not title:
        raise RecordError(f"{key or 'the record'} has no title")
    links = fields.all("ee")
    date = iso_date(fields.first("year"), fields.first("month"))
    informal = record.get("publtype", "").startswith("informal")
    extra = {
        "type": "preprint" if informal else _TYPES[kind],
        "pages": fields.first("pages"),
        "volume": fields.first("volume"),
        "issue": fields.first("number"),
        "publisher": fields.first("publisher"),
        "isbn": fields.first("isbn"),
        "series": fields.first("series"),
        "url": links[0] if links else _page(fields.first("url")),
    }
    return Paper(
        title=title if title.endswith("..") else title.removesuffix("."),
        authors=_people(fields.all("author") or fields.all("editor")),
        year=clean.year(date),
        date=date,
        venue=fields.first("journal") or fields.first("booktitle") or fields.first("school"),
        ids=clean.unique([canonical("dblp", key) or "", *(recognise(link) or "" for link in links), _preprint(fields)]),
        references=[Reference([cited]) for cite in fields.all("cite") if cite != "..." and (cited := canonical("dblp", cite))],
        extra={field: value for field, value in extra.items() if value},
    )


def _people(names: list[str]) -> list[Name]:
    return parse_all(clean.unique(_NAMESAKE.sub("", name) for name in names))


def _page(address: str) -> str:
    return f"https://dblp.org/{address}" if address.startswith("db/") else address


def _preprint(fields: Fields) -> str:
    """The arXiv id of a CoRR paper, which is its volume."""
    volume = fields.first("volume")
    is_preprint = fields.first("journal") == "CoRR" and volume.startswith("abs/")
    return canonical("arxiv", volume.removeprefix("abs/")) or "" if is_preprint else ""
