"""BibTeX: one entry per paper, with LaTeX's special characters escaped and accents unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TextIO
from urllib.parse import quote

from citewell.export.bibtex_names import name_list
from citewell.export.kinds import kind
from citewell.export.latex import escaped
from citewell.export.naming import Citekeys, date_parts
from citewell.papers import Paper
from citewell.sources.bibtex import is_path

_UPPER_INSIDE = re.compile(r"\S[^\W\d_]*[A-Z]|[A-Z]\S*[A-Z]")
_FIELD_NAME = re.compile(r"[a-z][\w.:+-]*")
_UNQUOTABLE = {"\\": "%5C", "{": "%7B", "}": "%7D"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_TYPES = frozenset(
    {
        "article",
        "book",
        "booklet",
        "collection",
        "conference",
        "inbook",
        "incollection",
        "inproceedings",
        "manual",
        "mastersthesis",
    }
    | {"misc", "online", "patent", "periodical", "phdthesis", "proceedings", "report", "techreport", "thesis", "unpublished"}
    | {"mvbook", "mvcollection", "mvproceedings", "mvreference", "reference", "bookinbook", "inreference"}
    | {"suppbook", "suppcollection", "suppperiodical"}
)
"""Types that are written as the source has them; the last two lines have those of BibLaTeX that no other format has."""
_VENUES = ("journal", "journaltitle", "booktitle", "publisher", "school", "institution", "organization", "howpublished")
"""Fields that the reader uses for the venue; the first one present wins."""
_VENUE = {
    "article": "journal",
    "periodical": "journal",
    "inproceedings": "booktitle",
    "conference": "booktitle",
    "incollection": "booktitle",
    "inbook": "booktitle",
    "bookinbook": "booktitle",
    "inreference": "booktitle",
    "suppbook": "booktitle",
    "suppcollection": "booktitle",
    "suppperiodical": "journal",
    "book": "publisher",
    "mvbook": "publisher",
    "mvcollection": "publisher",
    "mvproceedings": "publisher",
    "mvreference": "publisher",
    "reference": "publisher",
    "proceedings": "publisher",
    "collection": "publisher",
    "phdthesis": "school",
    "mastersthesis": "school",
    "thesis": "school",
    "techreport": "institution",
    "report": "institution",
}
_VERBATIM = frozenset(("url", "doi", "eprint", "biburl", "link"))
_ROLES = {"container-author": "bookauthor"}
"""Roles that have another name in BibTeX."""
_NAMED = {"issue": "number", "genre": "type", "type": ""}
"""Fields that have another name in BibTeX; our type is the entry type."""
_OWN_FIELDS = {"doi": "doi", "arxiv": "eprint", "pmid": "pmid", "pmcid": "pmcid"}


def write(papers: Iterable[Paper], out: TextIO, keys: Citekeys | None = None) -> None:
    """Write papers; `keys` gives them their citation keys."""
    keys = keys or Citekeys()
    for paper in papers:
        out.write(entry(paper, keys.key(paper)) + "\n")


def entry(paper: Paper, key: str) -> str:
    """One entry with the given key, and a final newline."""
    entry_type = _type(paper)
    lines = [f"  {name} = {value}" for name, value in _fields(paper, entry_type)]
    return f"@{entry_type}{{{key},\n" + ",\n".join(lines) + "\n}\n"


def _type(paper: Paper) -> str:
    own_type = paper.extra.get("type", "")
    return own_type if own_type in _TYPES else kind(paper).bibtex


def _fields(paper: Paper, entry_type: str) -> Iterator[tuple[str, str]]:
    """The fields of an entry, without duplicates, with their values in braces."""
    # Fields of a crossref have been inherited, and its target need not be among the papers.
    written = {"citekey", "crossref"}
    for name, value in (*_described(paper, entry_type), *_identified(paper.ids)):
        if value:
            written.add(name)
            yield name, f"{{{value}}}"
    if month := date_parts(paper)[1:2]:
        written.add("month")
        yield "month", _MONTHS[month[0] - 1]
    for name, value in paper.extra.items():
        field = _NAMED.get(name, name)
        if field not in written and _FIELD_NAME.fullmatch(field):
            written.add(field)
            yield field, f"{{{_value(field, value)}}}"


def _described(paper: Paper, entry_type: str) -> Iterator[tuple[str, str]]:
    keywords = "; ".join(paper.keywords)
    yield "title", _title(paper.title)
    yield "author", name_list(paper.authors)
    for role, names in paper.people.items():
        if _FIELD_NAME.fullmatch(name := _ROLES.get(role, role)):
            yield name, name_list(names)
    yield "year", str(paper.year or "")
    yield "day", "".join(map(str, date_parts(paper)[2:]))
    if (field := _venue_field(paper, entry_type)) not in paper.extra:
        yield field, escaped(paper.venue)
    yield "abstract", escaped(paper.abstract)
    yield "keywords", escaped(keywords if len(paper.keywords) != 1 or "," not in keywords else f"{keywords};")


def _venue_field(paper: Paper, entry_type: str) -> str:
    """The field for the venue: the usual one, unless the paper has another one that our reader prefers."""
    usual = _VENUE.get(entry_type, "howpublished")
    preferred = _VENUES[: _VENUES.index(usual) + 1]
    values = [paper.extra[name] for name in preferred if paper.extra.get(name)]
    return usual if not values or values[0] == paper.venue else "journal"


def _title(title: str) -> str:
    """A title with acronyms in braces, for styles that put titles in lower case."""
    words = (f"{{{escaped(word)}}}" if _UPPER_INSIDE.search(word) else escaped(word) for word in title.split(" "))
    return " ".join(words)


def _identified(ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The identifiers that have BibTeX fields, and the others in a field of ours."""
    first: dict[str, str] = {}
    others = []
    for identifier in ids:
        scheme, _, value = identifier.partition(":")
        if scheme in _OWN_FIELDS and scheme not in first:
            first[scheme] = value
        else:
            others.append(quote(identifier, safe=":/.-_()+;,<>@!*"))
    for scheme, value in first.items():
        yield _OWN_FIELDS[scheme], _verbatim(f"PMC{value}" if scheme == "pmcid" else value)
        if scheme == "arxiv":
            yield "archiveprefix", "arXiv"
    if others:
        yield "citewell-ids", " ".join(others)


def _value(field: str, value: str) -> str:
    if is_path(field) and _is_balanced(value):
        return value
    if field in _VERBATIM:
        return _verbatim(value)
    return escaped(value).replace("-", "--") if field == "pages" else escaped(value)


def _is_balanced(value: str) -> bool:
    """Whether the braces of `value` can stand in braces."""
    depth = 0
    for character in value:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return not depth


def _verbatim(value: str) -> str:
    return "".join(_UNQUOTABLE.get(character, character) for character in value)
