"""CSL-JSON: one array of items, for pandoc, Zotero and citation processors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from citewell.export.kinds import kind
from citewell.export.naming import Citekeys, date_parts
from citewell.papers import Name, Paper
from citewell.text.names import split_particle

_NAMED = {
    "pages": "page",
    "url": "URL",
    "isbn": "ISBN",
    "issn": "ISSN",
    "series": "collection-title",
    "address": "publisher-place",
}
_SAME = frozenset(
    ("volume", "issue", "publisher", "edition", "language", "note", "number", "genre", "version", "source", "archive")
)
_PEOPLE = frozenset(
    {"chair", "collection-editor", "compiler", "composer", "container-author", "contributor", "curator", "director", "editor"}
    | {"editorial-director", "executive-producer", "guest", "host", "illustrator", "interviewer", "narrator", "organizer"}
    | {
        "original-author",
        "performer",
        "producer",
        "recipient",
        "reviewed-author",
        "script-writer",
        "series-creator",
        "translator",
    }
)
_TYPE = re.compile(
    r"article-\w+|paper-conference|chapter|book|thesis|report|dataset|webpage|entry(?:-\w+)?|review(?:-book)?|patent|speech|software|post-weblog"
)


def write(papers: Iterable[Paper], out: TextIO, keys: Citekeys | None = None) -> None:
    """Write papers; `keys` gives them their citation keys."""
    keys = keys or Citekeys()
    before = "["
    for paper in papers:
        out.write(f"{before}\n{msgspec.json.encode(_item(paper, keys)).decode()}")
        before = ","
    out.write("[]\n" if before == "[" else "\n]\n")


def item(paper: Paper, key: str) -> dict[str, Any]:
    """One paper as an item with the id `key`."""
    return _item(paper, Citekeys()) | {"id": key}


def _item(paper: Paper, keys: Citekeys) -> dict[str, Any]:
    own_type = paper.extra.get("type", "")
    dated = date_parts(paper)
    keywords = "; ".join(paper.keywords)
    item: dict[str, Any] = {
        "id": keys.key(paper),
        "type": own_type if _TYPE.fullmatch(own_type) else kind(paper).csl,
        "title": paper.title,
        "author": [_person(name) for name in paper.authors],
        "issued": {"date-parts": [dated]} if dated else None,
        "container-title": paper.venue,
        "abstract": paper.abstract,
        "keyword": keywords if len(paper.keywords) != 1 or "," not in keywords else f"{keywords};",
    }
    custom: dict[str, Any] = {}
    for name, value in paper.extra.items():
        if name in _NAMED or name in _SAME:
            item[_NAMED.get(name, name)] = value
        elif name not in ("type", "citekey"):
            custom[name] = value
    for role, people in paper.people.items():
        (item if role in _PEOPLE else custom)[role] = [_person(each) for each in people]
    if others := _identify(item, paper.ids):
        custom["citewell-ids"] = others
    return {name: value for name, value in (item | {"custom": custom}).items() if value}


def _person(name: Name) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "family": name.family,
        "given": name.given,
        "non-dropping-particle": name.particle,
        "suffix": name.suffix,
        "literal": name.literal,
    }
    person = {key: value for key, value in fields.items() if value}
    if not name.particle and split_particle(name.family)[0]:
        person["parse-names"] = False
    return person


def _identify(item: dict[str, Any], ids: Iterable[str]) -> list[str]:
    """Add the identifiers that have CSL fields to `item`; return the others."""
    others = []
    for identifier in ids:
        scheme, _, value = identifier.partition(":")
        field = scheme.upper()
        if scheme in ("doi", "pmid", "pmcid") and field not in item:
            item[field] = f"PMC{value}" if scheme == "pmcid" else value
        else:
            others.append(identifier)
    return others
