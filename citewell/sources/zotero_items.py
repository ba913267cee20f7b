"""A Zotero item as a Paper, whether it comes from Zotero's database or from its API: both use the same names of fields.

Zotero's free field ``extra`` holds what has no field of its own, one ``Name: value`` a line; identifiers and the citation key
that Better BibTeX pins there are taken out of it, the rest is kept as a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from citewell.identifiers import canonical, recognise
from citewell.papers import Paper
from citewell.sources.clean import date, text, unique, untagged, year

NOT_PAPERS = frozenset(("attachment", "note", "annotation"))
"""Kinds of items that belong to others."""

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
"""CSL's words for the types that Zotero calls otherwise."""
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
_LINE = re.compile(r"([A-Za-z][\w .-]{0,30}?)\s*[:=]\s*(\S.*)")
_CITATION_KEYS = frozenset(("citation key", "citekey", "citation-key", "bibtex"))
_SCHEMES = {"doi": "doi", "pmid": "pmid", "pmcid": "pmcid", "arxiv": "arxiv"}


class Creator(NamedTuple):
    """Somebody who made the item, and as what."""

    role: str
    name: str


def paper(
    key: str,
    kind: str,
    fields: Mapping[str, object],
    creators: Sequence[Creator],
    tags: Iterable[object] = (),
    collections: Iterable[str] = (),
    citekey: str = "",
) -> Paper:
    """The item called `key`; `citekey` counts where the item itself names none."""
    noted = _Noted(fields.get("extra"))
    published = date(fields.get("date")) or date(noted.fields.get("original-date"))
    authors = [creator.name for creator in creators if creator.role == "author"]
    editors = [creator.name for creator in creators if creator.role == "editor"]
    first_role = creators[0].role if creators else ""
    ids = _ids(fields, noted)
    extra = {name: text(fields.get(field)) for field, name in _EXTRA.items()}
    extra |= {
        "type": _TYPES.get(kind, kind),
        "editor": "; ".join(editors) if authors else "",
        "citekey": text(fields.get("citationKey")) or noted.citekey or citekey,
        "collections": "; ".join(unique(collections)),
        "note": "; ".join(noted.rest),
    }
    return Paper(
        title=next((found for field in _TITLES if (found := untagged(fields.get(field)))), ""),
        abstract=untagged(fields.get("abstractNote")),
        authors=unique(authors or (creator.name for creator in creators if creator.role == first_role)),
        year=year(published) or year(fields.get("date")),
        date=published if len(published) > 4 else "",
        venue=next((found for field in _VENUES if (found := untagged(fields.get(field)))), ""),
        ids=[*ids, f"zotero:{key}"],
        id="" if ids else extra["citekey"],
        keywords=unique(map(text, tags)),
        extra={name: value for name, value in extra.items() if value},
    )


class _Noted:
    """What the field ``extra`` says."""

    def __init__(self, written: object) -> None:
        self.fields: dict[str, str] = {}
        self.citekey = ""
        self.rest: list[str] = []
        for line in written.splitlines() if isinstance(written, str) else ():
            found = _LINE.fullmatch(text(line))
            name = found[1].lower() if found else ""
            if found and name in _CITATION_KEYS:
                self.citekey = found[2]
            elif found and (name in _SCHEMES or name == "original-date"):
                self.fields[name] = found[2]
            elif said := text(line):
                self.rest.append(said)


def _ids(fields: Mapping[str, object], noted: _Noted) -> list[str]:
    found = [canonical("doi", text(fields.get("DOI")))]
    found += [canonical(scheme, noted.fields.get(name, "").partition(" ")[0]) for name, scheme in _SCHEMES.items()]
    found += [canonical(scheme, text(fields.get(name.upper()))) for name, scheme in _SCHEMES.items() if name.startswith("pm")]
    found += [recognise(text(fields.get("archiveID"))), recognise(text(fields.get("url")))]
    return unique(each or "" for each in found)
