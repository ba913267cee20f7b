"""Zotero's RDF export (``.rdf``).

The journal or book in which a work appeared is an element of its own with volume, issue and DOI, inside the work or anywhere in
the file under a name. Works wait for theirs, up to a limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml.etree import _Element

from citewell.papers import Paper, Problem
from citewell.sources.source import Source
from citewell.sources.xml import RecordError, opening, papers, text, text_at
from citewell.sources.zotero_items import NOT_PAPERS, Creator, creator, paper

NAME = "Zotero RDF"
PRIORITY = 80

_WORKS = (
    *("Article", "Book", "BookSection", "Thesis", "Letter", "Manuscript", "Interview", "MotionPicture", "Illustration"),
    *(
        "Document",
        "Memo",
        "Report",
        "Legislation",
        "Patent",
        "Image",
        "Recording",
        "ConferenceProceedings",
        "Data",
        "Description",
    ),
)
_CONTAINERS = ("Journal", "Periodical", "Newspaper", "CourtReporter", "Website", "Blog", "Forum")
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_PERSON = "{*}Seq/{*}li/{*}Person"
_FIELDS = {
    "title": "title",
    "abstract": "abstractNote",
    "date": "date",
    "issued": "date",
    "pages": "pages",
    "description": "extra",
    "edition": "edition",
    "language": "language",
    "rights": "rights",
    "type": "thesisType",
    "citationKey": "citationKey",
    "number": "issue",
    "volume": "volume",
}
"""Zotero's name for each element of a work."""
_CONTAINER_FIELDS = {"title": "publicationTitle", "volume": "volume", "number": "issue", "alternative": "journalAbbreviation"}
_MAX_WAITING = 32 * 1024 * 1024
"""The maximum number of characters in works that wait for their journal, and in journals."""


@dataclass(slots=True)
class _Work:
    """A work as far as it is known."""

    kind: str
    fields: dict[str, str] = field(default_factory=dict)
    creators: list[Creator] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    container: str = ""
    """The name of its journal or book, if that is described elsewhere."""

    def size(self) -> int:
        return 1000 + sum(map(len, self.fields.values()))


def matches(head: bytes) -> bool:
    root, start = opening(head)
    return root == "RDF" and "zotero.org/namespaces/export" in start


def read(source: Source) -> Iterator[Paper | Problem]:
    works = _Works()
    yield from papers(source, (*_WORKS, *_CONTAINERS), works.take, nested=True)
    yield from works.rest()


class _Works:
    """The works of a file; those whose journal comes later wait for it."""

    def __init__(self) -> None:
        self._containers: dict[str, dict[str, str]] = {}
        self._waiting: dict[str, list[_Work]] = {}
        self._ready: deque[_Work] = deque()
        self._room = _MAX_WAITING

    def take(self, record: _Element) -> Paper | None:
        """A paper that is complete now, which may be another one than that of `record`."""
        kind = text_at(record, "{*}itemType")
        if kind and kind not in NOT_PAPERS:
            self._add(_work(record, kind))
        elif not kind and (name := record.get(f"{_RDF}about")):
            self._describe(name, record)
        return _built(self._ready.popleft()) if self._ready else None

    def rest(self) -> Iterator[Paper | Problem]:
        """The works at the end of the file, also those whose journal is nowhere."""
        for work in [*self._ready, *(work for works in self._waiting.values() for work in works)]:
            try:
                yield _built(work)
            except RecordError as error:
                yield Problem(str(error))

    def _add(self, work: _Work) -> None:
        known = self._containers.get(work.container)
        if known is not None:
            work.fields |= known
        if known is not None or not work.container or self._room <= 0:
            self._ready.append(work)
        else:
            self._waiting.setdefault(work.container, []).append(work)
            self._room -= work.size()

    def _describe(self, name: str, container: _Element) -> None:
        fields = _container_fields(container)
        waiting = self._waiting.pop(name, [])
        for work in waiting:
            self._room += work.size()
            work.fields |= fields
            self._ready.append(work)
        if not waiting and self._room > 0:
            self._containers[name] = fields
            self._room -= 1000 + sum(map(len, fields.values()))


def _built(work: _Work) -> Paper:
    made = paper("", work.kind, work.fields, work.creators, work.tags)
    if not made.title:
        raise RecordError("the item has no title")
    return made


def _work(record: _Element, kind: str) -> _Work:
    work = _Work(kind)
    for child in record:
        name = _local(child)
        if name == "isPartOf":
            work.container = work.container or child.get(f"{_RDF}resource", "")
            for part in child:
                work.fields |= _container_fields(part)
                work.container = work.container or _outer(part)
        elif name == "identifier":
            _identify(work.fields, text(child))
        elif name == "subject":
            work.tags += [] if child.find("{*}LCC") is not None else [text(child)]
        elif name == "publisher":
            work.fields["publisher"] = text_at(child, ".//{*}name")
            work.fields["place"] = text_at(child, ".//{*}locality")
        elif name == "presentedAt":
            work.fields["conferenceName"] = text(child)
        elif (people := child.findall(_PERSON)) and name.endswith("s"):
            work.creators += [each for person in people if any((each := _creator(name[:-1], person)).name)]
        elif name in _FIELDS and (content := _lines(child) if name == "description" else text(child)):
            work.fields.setdefault(_FIELDS[name], content)
    return work


def _local(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _lines(element: _Element) -> str:
    """The text with its line breaks: in Zotero's field Extra, each line is a field."""
    return "".join(str(part) for part in element.itertext())


def _creator(role: str, person: _Element) -> Creator:
    given = text_at(person, "{*}givenName") or text_at(person, "{*}givenname")
    return creator(role, text_at(person, "{*}surname"), given, single=not given)


def _container_fields(container: _Element) -> dict[str, str]:
    """What the journal or book says about the works in it; that of a series is its title."""
    if _local(container) == "Series":
        return {"series": text_at(container, "{*}title")}
    fields: dict[str, str] = {}
    section = _local(container) == "Part"
    for child in container:
        name = _local(child)
        if name == "isPartOf":
            for part in child:
                fields |= _container_fields(part)
        elif name == "identifier":
            _identify(fields, text(child))
        elif name in _CONTAINER_FIELDS and not section and (content := text(child)):
            fields.setdefault(_CONTAINER_FIELDS[name], content)
    return fields


def _outer(part: _Element) -> str:
    """The name of the journal of which a section is part."""
    inner = part.find("{*}isPartOf")
    return inner.get(f"{_RDF}resource", "") if inner is not None and _local(part) == "Part" else ""


def _identify(fields: dict[str, str], identifier: str) -> None:
    """Take an identifier such as ``DOI 10.1000/182``, ``ISSN 1234-5678`` or a URL."""
    scheme, _, value = identifier.partition(" ")
    if scheme in ("DOI", "ISSN", "ISBN"):
        fields.setdefault(scheme, value)
    elif "://" in identifier:
        fields.setdefault("url", identifier)
