"""BibTeX and BibLaTeX: every entry of a ``.bib`` file as a paper, with all its fields.

`citewell.sources.bibtex_entries` finds the entries and `citewell.sources.latex` converts them to text. This module resolves
``crossref``, wherever in the file the parent is, and maps the fields of an entry to those of a `Paper`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from citewell.identifiers import canonical, recognise
from citewell.papers import Name, Paper, Problem, Remainder, Verbatim
from citewell.sources import ris
from citewell.sources.bibtex_entries import Entry, entries
from citewell.sources.bibtex_names import PEOPLE, people
from citewell.sources.clean import date, day, listed_keywords, one_per_scheme, text, unique, untagged, year
from citewell.sources.first_line import kind
from citewell.sources.latex import to_text, verbatim
from citewell.sources.plain_text import beginning
from citewell.sources.source import Source

NAME = "BibTeX"
PRIORITY = 20

_MAX_WAITING = 32 * 1024 * 1024
"""The maximum number of characters in entries that wait for their ``crossref`` or may be the target of one."""
_ENTRY = re.compile(
    r"^[ \t]*@[ \t]*(?:[a-z][\w-]*\s*\{\s*[^\s,{}=]*\s*[,}]|string\s*[{(]|(?:comment|preamble)\s*\{"
    r"|(?:article|book|inbook|incollection|inproceedings|misc|\w*thesis|proceedings|techreport|manual|unpublished)\s*[({])",
    re.IGNORECASE | re.MULTILINE,
)
_VENUES = ("journal", "journaltitle", "booktitle", "publisher", "school", "institution", "organization", "howpublished")
_INHERITED = frozenset(
    {"booktitle", "editor", "year", "date", "month", "publisher", "address", "location", "series", "volume", "number", "isbn"}
    | {"issn", "organization", "institution", "edition", "journal", "journaltitle", "eventtitle", "eventdate", "venue"}
)
_PARENTS = frozenset(("proceedings", "book", "collection", "periodical", "booklet", "reference"))
_SETTINGS = frozenset(("ieeetranbstctl", "control", "set", "xdata"))
"""Entries that configure a style or a program and describe no work."""
_VERBATIM = frozenset(("url", "doi", "eprint", "isbn", "issn", "pmid", "pmcid", "biburl", "link", "citewell-ids"))
_PATH = re.compile(r"file|pdf|local-?(?:url|file)|attachments?|bdsk-[\w-]+")
"""Fields with paths and data of reference managers, in which a backslash is one."""
_NUMBERED = frozenset(("techreport", "report", "patent", "standard", "manual"))
_TAKEN = frozenset(("title", "subtitle", "author", "abstract", "keywords", "year", "date", "month", "day", "citewell-ids"))
_CONSUMED = frozenset(("doi", "pmid", "pmcid", "eprint", "archiveprefix", "eprinttype"))
"""Fields that are redundant once they have become an identifier."""
_ARXIV_MENTION = re.compile(r"\barxiv:\s*(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})", re.IGNORECASE)
_DASH = re.compile(r"\s*[-\u2010-\u2015]+\s*")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER = re.compile(r"\d+")


def matches(head: bytes) -> bool:
    start = beginning(head).lstrip()
    if start.startswith(("{", "[", "<")) or ris.matches(head):
        return False
    return bool(_ENTRY.search(start)) and kind(head) is None


def read(source: Source) -> Iterator[Paper | Problem | Remainder]:
    for entry in _inherited(_works(entries(source))):
        yield entry if isinstance(entry, Problem | Remainder) else _paper(entry)


def _works(source: Iterator[Entry | Problem | Remainder]) -> Iterator[Entry | Problem | Remainder]:
    """The entries that describe a work; the text of the others stays with the next one."""
    passed_over = ""
    for entry in source:
        match entry:
            case Problem():
                yield entry
            case Remainder(text=remainder):
                yield Remainder(passed_over + remainder)
            case _ if entry.type in _SETTINGS or not (_is_work(entry) or (text(entry.key) and entry.fields)):
                if entry.type not in _SETTINGS:
                    reason = "neither a title nor an identifier"
                    yield Problem(f"@{entry.type} {text(entry.key[:80])}: {reason}", entry.line, damaged=False)
                passed_over += entry.lead + entry.text
            case _:
                entry.lead, passed_over = passed_over + entry.lead, ""
                yield entry


def _is_work(entry: Entry) -> bool:
    """Whether an entry has a title or an identifier; one with a ``crossref`` may inherit it."""
    return (
        "crossref" in entry.fields
        or bool(entry.fields.get("title", "").strip() or entry.fields.get("subtitle", "").strip())
        or bool(_ids(entry, _values(entry)))
    )


def _values(entry: Entry) -> dict[str, str]:
    """The fields of an entry, with those that are not LaTeX as plain text."""
    return {name: verbatim(value) if name in _VERBATIM else value for name, value in entry.fields.items()}


def _inherited(source: Iterator[Entry | Problem | Remainder]) -> Iterator[Entry | Problem | Remainder]:
    """Entries with the fields that they inherit by ``crossref``; those before their parent wait, up to a limit."""
    parents: dict[str, dict[str, str]] = {}
    waiting: dict[str, list[Entry]] = {}
    room = _MAX_WAITING
    for entry in source:
        if isinstance(entry, Problem | Remainder):
            yield entry
            continue
        parent_key = entry.fields.get("crossref", "").strip().lower()
        if parent_key in parents:
            entry.fields = parents[parent_key] | entry.fields
        elif parent_key and room > 0:
            waiting.setdefault(parent_key, []).append(entry)
            room -= _size(entry.fields)
            continue
        own_key = entry.key.lower()
        children = waiting.pop(own_key, ())
        if children or entry.type.removeprefix("mv") in _PARENTS:
            inherited = {name: value for name, value in entry.fields.items() if name in _INHERITED}
            if "title" in entry.fields:
                inherited.setdefault("booktitle", entry.fields["title"])
            if room > 0 and own_key not in parents:
                parents[own_key] = inherited
                room -= _size(inherited)
            for child in children:
                room += _size(child.fields)
                child.fields = inherited | child.fields
        yield entry
        yield from children
    for orphans in waiting.values():
        yield from orphans


def _size(fields: dict[str, str]) -> int:
    return 1000 + sum(map(len, fields.values()))


def _paper(entry: Entry) -> Paper:
    values = _values(entry)
    title, subtitle = (untagged(to_text(values.get(name, ""))) for name in ("title", "subtitle"))
    ids = _ids(entry, values)
    published = _date(values)
    venue_field = next((name for name in _VENUES if values.get(name, "").strip()), "")
    paper = Paper(
        title=f"{title}: {subtitle}" if subtitle and title else title or subtitle,
        abstract=untagged(to_text(values.get("abstract", ""))),
        authors=people(values.get("author", "")),
        year=year(published) or year(values.get("year")),
        date=published if len(published) > 4 else "",
        venue=to_text(values.get(venue_field, "")),
        ids=ids,
        keywords=listed_keywords(to_text(values.get("keywords", ""))),
        verbatim=Verbatim(entry.text, entry.lead, entry.position),
    )
    paper.people = _people(values)
    paper.extra = _extra(entry, values, venue_field, paper)
    return paper


def _ids(entry: Entry, values: dict[str, str]) -> list[str]:
    """The identifiers of an entry; of two in one scheme, the one in the more specific field counts."""
    get = values.get
    ids = [canonical(name, values[name]) for name in ("doi", "pmid", "pmcid") if name in values]
    if eprint := get("eprint", ""):
        archive = to_text(get("archiveprefix", "") or get("eprinttype", "")).lower()
        scheme = {"": "arxiv", "arxiv": "arxiv", "pubmed": "pmid", "pmid": "pmid", "pmc": "pmcid"}.get(archive, "")
        ids.append(canonical(scheme, eprint))
    ids += [recognise(values[name]) for name in ("url", "ee", "link") if name in values]
    if entry.key.lower().startswith(("10.", "doi:", "dblp:")):
        ids.append(recognise(text(entry.key)))
    for name in ("journal", "journaltitle", "note", "howpublished", "number", "volume"):
        if name in values and (mention := _ARXIV_MENTION.search(values[name])):
            ids.append(canonical("arxiv", mention[1]))
    if (volume := get("volume", "")).startswith("abs/"):
        ids.append(canonical("arxiv", volume.removeprefix("abs/").strip()))
    own = (unquote(each) for each in get("citewell-ids", "").split())
    return unique([*one_per_scheme(ids), *(recognise(each) or each for each in map(text, own))])


def is_path(name: str) -> bool:
    """Whether a field has a path or other data of a program, which are kept as they are."""
    return bool(_PATH.fullmatch(name))


def _date(values: dict[str, str]) -> str:
    """The ISO date of an entry, as exact as its fields."""
    if iso_date := date(to_text(values.get("date", ""))):
        return iso_date
    of_year = year(to_text(values.get("year", "")))
    month = to_text(values.get("month", "")).lower()
    number = next((at for at, name in enumerate(_MONTHS, 1) if name in month), None)
    days = _NUMBER.findall(to_text(values.get("day", "")) if number is None else month + " " + to_text(values.get("day", "")))
    if number is None:
        return day(of_year, month, *days[:1])
    return day(of_year, number, *days[:1])


def _people(values: dict[str, str]) -> dict[str, list[Name]]:
    """Everybody but the authors, by role."""
    return {role: listed for name, role in PEOPLE.items() if name in values and (listed := people(values[name]))}


def _extra(entry: Entry, values: dict[str, str], venue_field: str, paper: Paper) -> dict[str, str]:
    """All other fields, under the names that citewell shares with CSL."""
    extra = {"type": entry.type, "citekey": text(entry.key)}
    schemes = {each.partition(":")[0] for each in paper.ids}
    for name, value in values.items():
        if name in _TAKEN or name in PEOPLE or (name == venue_field and name in ("journal", "journaltitle", "booktitle")):
            continue
        if name in _CONSUMED and (
            name in schemes or (name in ("eprint", "archiveprefix", "eprinttype") and "arxiv" in schemes)
        ):
            continue
        content = text(value) if is_path(name) else value if name in _VERBATIM else to_text(value)
        if name == "pages":
            content = _DASH.sub("-", content)
        elif name == "number" and entry.type not in _NUMBERED:
            name = "issue"
        elif name == "type":
            name = "genre"
        if content and name != "citekey":
            extra[text(name)] = content
    if not paper.date and (month := to_text(values.get("month", ""))):
        extra["month"] = month
    if paper.year is None and (year_text := to_text(values.get("year", "") or values.get("date", ""))):
        extra["year"] = year_text
    return {name: value for name, value in extra.items() if name and value}
