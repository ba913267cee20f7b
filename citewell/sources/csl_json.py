"""CSL-JSON, the exchange format of Zotero, Mendeley and pandoc, and the works of Crossref, which are modelled on it.

The file is an array, one item, one item per line or ``{"items": [...]}``. Crossref's lists instead of strings are accepted, and
its ``reference`` lists become references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Reference, Verbatim
from citewell.sources.clean import (
    Json,
    date,
    day,
    listed_keywords,
    mapping,
    one_per_scheme,
    sequence,
    strings,
    text,
    unique,
    untagged,
    year,
)
from citewell.sources.json_names import are_people, name, names
from citewell.sources.json_records import first_record, records
from citewell.sources.source import Source
from citewell.text.names import literal

NAME = "CSL-JSON"
PRIORITY = 40

_TYPE = re.compile(
    r"(?:journal-|proceedings-)?article(?:-\w+)?|(?:book-)?chapter|(?:edited-)?book|entry(?:-\w+)?|paper-conference|report|thesis"
    r"|dissertation|dataset|document|manuscript|monograph|patent|periodical|posted-content|post(?:-weblog)?|proceedings|review"
    r"(?:-book)?|software|speech|standard|webpage|pamphlet|legislation|legal_case|broadcast|interview|motion_picture"
)
_TYPICAL = frozenset(("author", "issued", "container-title", "DOI"))
_FOREIGN = frozenset(
    {"authors", "authorships", "referenced_works", "display_name", "paperId", "corpusid", "paper_id", "paperAbstract"}
    | {"authors_parsed", "update_date", "citing", "sentences", "references"}
)
_DATES = ("issued", "published", "published-print", "published-online", "original-date", "created")
_NAMED = {
    "page": "pages",
    "collection-title": "series",
    "publisher-place": "address",
    "edition-number": "edition",
    "id": "citekey",
}
"""Fields that have another name in citewell; the others keep theirs, in lower case."""
_TAKEN = frozenset(
    {"title", "subtitle", "author", "abstract", "keyword", "subject", "reference", "custom", "categories", *_DATES}
    | {"DOI", "PMID", "PMCID", "references-count", "score", "member", "prefix", "relation", "indexed", "deposited"}
)
_CROSSREF = frozenset(("reference", "indexed", "is-referenced-by-count"))
"""Fields of Crossref's own records, which are no user's items."""
_PEOPLE = frozenset(("editor", "translator", "collection-editor", "container-author", "reviewed-author", "chair"))
"""Roles that Crossref has too; of others the objects tell that they are names."""


def matches(head: bytes) -> bool:
    record = first_record(head)
    keys = record.keys()
    if keys & _FOREIGN or not keys & {"title", "container-title", "DOI", "URL", "author"}:
        return False
    return bool(keys & _TYPICAL) or bool(_TYPE.fullmatch(text(record.get("type"))))


def read(source: Source) -> Iterator[Paper | Problem]:
    for position, (line, record) in enumerate(records(source)):
        if isinstance(record, Problem):
            yield record
            continue
        paper = _paper(record)
        if not record.keys() & _CROSSREF:
            paper.verbatim = Verbatim(_as_text(record), position=position)
        yield paper if paper.title or paper.ids else Problem("neither a title nor an identifier", line, damaged=False)


def _as_text(record: Json) -> str:
    """The item on one line."""
    try:
        return msgspec.json.encode(record).decode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can express
        return json.dumps(record)


def _paper(record: Json) -> Paper:
    published = next((known for each in _DATES if (known := _date(record.get(each)))), "")
    title, subtitle = untagged(_one(record.get("title"))), untagged(_one(record.get("subtitle")))
    extra = _extra(record)
    return Paper(
        title=f"{title}: {subtitle}" if subtitle and subtitle.lower() not in title.lower() else title,
        abstract=untagged(record.get("abstract")),
        authors=_names(record.get("author")),
        year=year(published),
        date=published if len(published) > 4 else "",
        venue=untagged(_one(record.get("container-title"))) or extra.get("publisher", ""),
        ids=_ids(record),
        keywords=_keywords(record),
        references=[cited for each in sequence(record.get("reference")) if (cited := _reference(mapping(each)))],
        extra=extra,
        people=_people(record),
    )


def _one(value: object) -> object:
    return next(iter(value), "") if isinstance(value, list) else value


def _date(value: object) -> str:
    if isinstance(value, str):
        return date(value)
    parts = mapping(value)
    first = _one(parts.get("date-parts"))
    if isinstance(first, list):
        return day(*(first[:3] or [None]))
    content = text(parts.get("raw")) or text(parts.get("literal"))
    return date(content) or day(year(content))


def _ids(record: Json) -> list[str]:
    ids = [canonical("doi", text(record.get("DOI")))]
    ids += [canonical("pmid", text(record.get("PMID"))), canonical("pmcid", text(record.get("PMCID")))]
    ids.append(recognise(text(record.get("URL"))))
    own = mapping(record.get("custom")).get("citewell-ids")
    return unique([*one_per_scheme(ids), *(recognise(each) or each for each in strings(own))])


def _keywords(record: Json) -> list[str]:
    keyword = record.get("keyword")
    listed = listed_keywords(text(keyword)) if isinstance(keyword, str) else strings(keyword)
    return unique([*listed, *strings(record.get("subject")), *strings(record.get("categories"))])


def _reference(record: Json) -> Reference | None:
    """A work in the list of Crossref; one that is only a line of text has no recognisable title and is left out."""
    doi = canonical("doi", text(record.get("DOI")))
    title = text(record.get("article-title")) or text(record.get("volume-title"))
    if not doi and not title:
        return None
    return Reference([doi] if doi else [], title, year(text(record.get("year"))), strings(record.get("author")))


def _people(record: Json) -> dict[str, list[Name]]:
    """Everybody but the authors, by role; those without a role in CSL are under ``custom``."""
    fields = [*record.items(), *mapping(record.get("custom")).items()]
    roles = {
        text(field): _names(value) for field, value in fields if field in _PEOPLE or (field not in _TAKEN and are_people(value))
    }
    return {role: listed for role, listed in roles.items() if role and listed}


def _names(value: object) -> list[Name]:
    """The names in a list; Crossref calls the ``literal`` of an organisation its ``name``."""
    if not isinstance(value, list):
        return names(value)
    listed = (literal(text(each["name"])) if _is_organisation(each) else name(each) for each in value)
    return [each for each in listed if any(each)]


def _is_organisation(value: object) -> bool:
    return isinstance(value, dict) and "name" in value and value.keys().isdisjoint(("family", "given", "literal"))


def _extra(record: Json) -> dict[str, str]:
    extra = {}
    for field, value in record.items():
        if field in _TAKEN or field == "container-title" or field in _PEOPLE or are_people(value):
            continue
        if isinstance(value, list):
            content = "; ".join(strings(value))
        else:
            content = _date(value) if isinstance(value, dict) else text(value)
        if content and (extra_field := text(_NAMED.get(field, field.lower()))):
            extra[extra_field] = content
    own = {key: text(value) for key, value in mapping(record.get("custom")).items() if key != "citewell-ids"}
    return extra | {text(key): value for key, value in own.items() if value and text(key)}
