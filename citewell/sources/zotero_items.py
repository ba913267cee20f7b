"""A Zotero item as a Paper, from Zotero's database or from its API, which use the same field names.

Zotero's field ``extra`` contains values without a field of their own, one ``Name: value`` per line. Identifiers and the
citation key that Better BibTeX pins there are extracted; the rest becomes a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper
from citewell.sources.clean import date, text, unique, untagged, year
from citewell.text.names import literal, person

NOT_PAPERS = frozenset(("attachment", "note", "annotation"))
"""Kinds of items that are attached to other items."""

_TYPES = {
    "journalArticle": "article-journal",
    "conferencePaper": "paper-conference",
    "bookSection": "chapter",
    "magazineArticle": "article-magazine",
    "newspaperArticle": "article-newspaper",
    "encyclopediaArticle": "entry-encyclopedia",
    "dictionaryEntry": "entry-dictionary",
    "computerProgram": "software",
    "blogPost": "post-weblog",
    "forumPost": "post",
    "presentation": "speech",
}
"""CSL names of the types that have another name in Zotero."""
_TITLES = ("title", "caseName", "nameOfAct", "subject")
_VENUES = (
    *("publicationTitle", "proceedingsTitle", "bookTitle", "encyclopediaTitle", "dictionaryTitle", "conferenceName"),
    *("blogTitle", "websiteTitle", "repository", "university", "institution", "publisher"),
)
_EXTRA = {
    "volume": "volume",
    "issue": "issue",
    "pages": "pages",
    "publisher": "publisher",
    "place": "address",
    "series": "series",
    "edition": "edition",
    "ISBN": "isbn",
    "ISSN": "issn",
    "language": "language",
    "url": "url",
    "thesisType": "genre",
    "journalAbbreviation": "container-title-short",
    "rights": "license",
}
_ROLES = {
    "bookAuthor": "container-author",
    "seriesEditor": "collection-editor",
    "reviewedAuthor": "reviewed-author",
    "scriptwriter": "script-writer",
}
"""CSL names of the roles that have another name in Zotero."""
_LINE = re.compile(r"([A-Za-z][\w .-]{0,30}?)\s*[:=]\s*(\S.*)")
_CITATION_KEYS = frozenset(("citation key", "citekey", "citation-key", "bibtex"))
_SCHEMES = {"doi": "doi", "pmid": "pmid", "pmcid": "pmcid", "arxiv": "arxiv"}


class Creator(NamedTuple):
    """A creator of an item, with their role."""

    role: str
    name: Name


def creator(role: object, family: object, given: object = "", single: bool = False) -> Creator:
    """A creator with these names; one of a single field is an organisation, or a person whose name is not divided."""
    if single:
        return Creator(text(role), literal(text(family)))
    last = text(family)
    # As in citation styles, quotation marks keep Zotero from taking the first words for a particle.
    quoted = len(last) > 2 and last[0] == last[-1] == '"'
    return Creator(text(role), person(last.strip('"') if quoted else last, text(given), split=not quoted))


def paper(
    key: str,
    kind: str,
    fields: Mapping[str, object],
    creators: Sequence[Creator],
    tags: Iterable[object] = (),
    collections: Iterable[str] = (),
    citekey: str = "",
) -> Paper:
    """The item called `key`, if it has one; `citekey` is used if the item itself has no citation key."""
    extra_field = _ExtraField(fields.get("extra"))
    published = date(fields.get("date")) or date(extra_field.fields.get("original-date"))
    listed = [each for each in creators if any(each.name)]
    roles: dict[str, list[Name]] = {}
    for each in dict.fromkeys(listed):
        roles.setdefault(_ROLES.get(each.role, each.role), []).append(each.name)
    # Those of the first role count as authors of what has none: a presentation, a film, an edited book.
    authors = roles.pop("author", None) or roles.pop(next(iter(roles), ""), [])
    ids = _ids(fields, extra_field)
    extra = {name: text(fields.get(field)) for field, name in _EXTRA.items()}
    extra |= {
        "type": _TYPES.get(kind, kind),
        "citekey": text(fields.get("citationKey")) or extra_field.citekey or citekey,
        "collections": "; ".join(unique(collections)),
        "note": "; ".join(extra_field.rest),
    }
    return Paper(
        title=next((title for field in _TITLES if (title := untagged(fields.get(field)))), ""),
        abstract=untagged(fields.get("abstractNote")),
        authors=authors,
        year=year(published) or year(fields.get("date")),
        date=published if len(published) > 4 else "",
        venue=next((venue for field in _VENUES if (venue := untagged(fields.get(field)))), ""),
        ids=[*ids, f"zotero:{key}"] if key else ids,
        id="" if ids else extra["citekey"],
        keywords=unique(map(text, tags)),
        extra={name: value for name, value in extra.items() if value},
        people=roles,
    )


class _ExtraField:
    """The parts of the field ``extra``."""

    def __init__(self, value: object) -> None:
        self.fields: dict[str, str] = {}
        self.citekey = ""
        self.rest: list[str] = []
        for line in value.splitlines() if isinstance(value, str) else ():
            named = _LINE.fullmatch(text(line))
            name = named[1].lower() if named else ""
            if named and name in _CITATION_KEYS:
                self.citekey = named[2]
            elif named and (name in _SCHEMES or name == "original-date"):
                self.fields[name] = named[2]
            elif content := text(line):
                self.rest.append(content)


def _ids(fields: Mapping[str, object], extra_field: _ExtraField) -> list[str]:
    ids = [canonical("doi", text(fields.get("DOI")))]
    ids += [canonical(scheme, extra_field.fields.get(name, "").partition(" ")[0]) for name, scheme in _SCHEMES.items()]
    ids += [canonical(scheme, text(fields.get(name.upper()))) for name, scheme in _SCHEMES.items() if name.startswith("pm")]
    ids += [recognise(text(fields.get("archiveID"))), recognise(text(fields.get("url")))]
    return unique(each or "" for each in ids)
