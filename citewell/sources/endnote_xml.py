"""EndNote's XML export, which Mendeley and other programs write as well.

Every text may be wrapped in <style> elements, which say how it looks.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, iso_date, opening, papers, text_at, texts
from citewell.text.ris_names import read_name

NAME = "EndNote XML"
PRIORITY = 80

_EXTRA = {
    "volume": "volume",
    "number": "issue",
    "pages": "pages",
    "publisher": "publisher",
    "pub-location": "address",
    "edition": "edition",
    "language": "language",
    "label": "citekey",
    "notes": "note",
    "work-type": "genre",
    "accession-num": "accession-number",
    "call-num": "call-number",
    "remote-database-name": "database",
    "remote-database-provider": "database-provider",
    "titles/tertiary-title": "series",
    "titles/short-title": "shorttitle",
    "periodical/abbr-1": "shortjournal",
    "auth-address": "affiliations",
    "research-notes": "research-notes",
    **{f"custom{number}": f"custom{number}" for number in range(1, 8)},
}
_PEOPLE = {
    "secondary-authors": "editor",
    "tertiary-authors": "collection-editor",
    "subsidiary-authors": "translator",
}
_VENUES = ("titles/secondary-title", "periodical/full-title", "titles/alt-title", "titles/tertiary-title", "publisher")


def matches(head: bytes) -> bool:
    root, start = opening(head)
    return root in ("xml", "records") and "<record" in start and ("<ref-type" in start or "<contributors" in start)


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, ["record"], _paper)


def _paper(record: _Element) -> Paper:
    title = text_at(record, "titles/title")
    ids = _ids(record)
    if not title and not ids:
        raise RecordError("the record has neither a title nor an identifier")
    published = _date(record)
    venue = next((venue for path in _VENUES if (venue := text_at(record, path))), "")
    kind = record.find("ref-type")
    name = clean.text(kind.get("name", "")) if kind is not None else ""
    extra = {name: text_at(record, path) for path, name in _EXTRA.items()}
    extra |= {"type": name, "url": text_at(record, "urls/related-urls/url")}
    extra["isbn" if "book" in name.lower() else "issn"] = text_at(record, "isbn")
    return Paper(
        title=clean.untagged(title),
        abstract=clean.untagged(text_at(record, "abstract")),
        authors=_people(record, "authors"),
        year=clean.year(published) or clean.year(text_at(record, "dates/year")),
        date=published if len(published) > 4 else "",
        venue=venue,
        ids=ids,
        keywords=clean.unique(
            part.strip() for keyword in texts(record.iterfind("keywords/keyword")) for part in keyword.split(";")
        ),
        extra={field: value for field, value in extra.items() if value},
        people={role: names for group, role in _PEOPLE.items() if (names := _people(record, group))},
    )


def _people(record: _Element, group: str) -> list[Name]:
    listed = texts(record.iterfind(f"contributors/{group}/author"))
    return [name for each in listed if any(name := read_name(each))]


def _date(record: _Element) -> str:
    """The year, with the month and the day of a publication date such as ``May 17`` or ``2019-05-17``."""
    year = text_at(record, "dates/year")
    published = text_at(record, "dates/pub-dates/date")
    exact = clean.date(published)
    if exact and (not year or exact.startswith(year)):
        return exact
    words = [word.strip(",.") for word in published.split() if word.strip(",.") != year]
    return iso_date(year, *words[:2])


def _ids(record: _Element) -> list[str]:
    ids = [canonical("doi", text_at(record, "electronic-resource-num"))]
    accession = text_at(record, "accession-num")
    database = text_at(record, "remote-database-name") + text_at(record, "remote-database-provider")
    if "pubmed" in database.lower() or "medline" in database.lower() or database.upper().startswith("NLM"):
        ids.append(canonical("pmid", accession))
    ids.append(canonical("pmcid", text_at(record, "custom2")) if text_at(record, "custom2").upper().startswith("PMC") else None)
    ids += [recognise(link) for url in texts(record.iterfind("urls//url")) for link in url.split()]
    return clean.one_per_scheme(ids)
