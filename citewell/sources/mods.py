"""MODS, the XML format in which library catalogues and repositories describe works."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, opening, papers, text, text_at, texts
from citewell.text.names import literal, parse, person

NAME = "MODS"
PRIORITY = 80

_SCHEMES = {"doi": "doi", "pmid": "pmid", "pubmed": "pmid", "pmc": "pmcid", "arxiv": "arxiv"}
_AUTHORS = frozenset(("author", "aut", "creator", "cre", ""))
_EDITORS = frozenset(("editor", "edt"))
_DATES = ("dateIssued", "copyrightDate", "dateCreated", "dateOther")


def matches(head: bytes) -> bool:
    return opening(head).root in ("mods", "modsCollection")


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, ["mods"], _paper)


def _paper(record: _Element) -> Paper:
    title = _title(record)
    ids = _ids(record)
    if not title and not ids:
        raise RecordError("the record has neither a title nor an identifier")
    host = next((each for each in record.iterfind("{*}relatedItem") if each.get("type") == "host"), None)
    published = _date(record) or (_date(host) if host is not None else "")
    publisher = text_at(record, "{*}originInfo/{*}publisher")
    extra = {
        "type": text_at(record, "{*}genre") or text_at(record, "{*}typeOfResource"),
        "publisher": publisher,
        "language": text_at(record, "{*}language/{*}languageTerm"),
        "url": text_at(record, "{*}location/{*}url"),
        "note": text_at(record, "{*}note"),
        "citekey": record.get("ID", ""),
        **_numbers(record, host),
    }
    return Paper(
        title=title,
        abstract=text_at(record, "{*}abstract"),
        authors=_people(record, _AUTHORS),
        year=clean.year(published),
        date=published if len(published) > 4 else "",
        venue=(_title(host) if host is not None else "") or publisher,
        ids=ids,
        keywords=texts(record.iterfind("{*}subject/{*}topic")),
        extra={field: value for field, value in extra.items() if clean.text(value)},
        people={"editor": editors} if (editors := _people(record, _EDITORS)) else {},
    )


def _title(element: _Element) -> str:
    """The main title with its article and subtitle; the others are abbreviated or translated."""
    for title in element.iterfind("{*}titleInfo"):
        if title.get("type") is None and (main := text_at(title, "{*}title")):
            whole = " ".join(filter(None, (text_at(title, "{*}nonSort"), main)))
            subtitle = text_at(title, "{*}subTitle")
            return f"{whole}: {subtitle}" if subtitle else whole
    return ""


def _people(record: _Element, roles: frozenset[str]) -> list[Name]:
    people = []
    for name in record.iterfind("{*}name"):
        role = text_at(name, "{*}role/{*}roleTerm").lower()
        parts: dict[str, list[str]] = {}
        for part in name.iterfind("{*}namePart"):
            parts.setdefault(part.get("type", ""), []).append(text(part))
        given, family = " ".join(parts.get("given", ())), " ".join(parts.get("family", ()))
        whole = " ".join(parts.get("", ()))
        if role not in roles or not (family or given or whole):
            continue
        if family or given:
            people.append(person(family or given, given if family else ""))
        else:
            people.append(literal(whole) if name.get("type") == "corporate" else parse(whole))
    return people


def _date(element: _Element) -> str:
    for origin in element.iterfind("{*}originInfo"):
        for name in _DATES:
            for each in origin.iterfind(f"{{*}}{name}"):
                if published := clean.date(text(each)) or str(clean.year(text(each)) or ""):
                    return published
    return clean.date(text_at(element, "{*}part/{*}date"))


def _ids(record: _Element) -> list[str]:
    ids = []
    for each in record.iterfind("{*}identifier"):
        value, kind = text(each), each.get("type", "").lower()
        ids.append(canonical(_SCHEMES[kind], value) if kind in _SCHEMES else recognise(value))
    ids += [recognise(text(each)) for each in record.iterfind("{*}location/{*}url")]
    return clean.one_per_scheme(ids)


def _numbers(record: _Element, host: _Element | None) -> dict[str, str]:
    """Volume, issue, pages, ISSN and ISBN, of the work or of what it is part of."""
    numbers: dict[str, str] = {}
    for element in (record, host) if host is not None else (record,):
        for detail in element.iterfind("{*}part/{*}detail"):
            numbers.setdefault(detail.get("type", ""), text_at(detail, "{*}number"))
        for extent in element.iterfind("{*}part/{*}extent"):
            pages = filter(None, (text_at(extent, "{*}start"), text_at(extent, "{*}end")))
            numbers.setdefault("pages", "-".join(pages) or text_at(extent, "{*}list"))
        for each in element.iterfind("{*}identifier"):
            numbers.setdefault(each.get("type", "").lower(), text(each))
    numbers["issue"] = numbers.get("issue") or numbers.get("number", "")
    return {name: numbers.get(name, "") for name in ("volume", "issue", "pages", "issn", "isbn")}
