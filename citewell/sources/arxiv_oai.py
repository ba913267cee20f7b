"""arXiv's OAI-PMH harvest in its three formats: oai_dc, arXiv and arXivRaw.

All three have one paper per <record>; they differ in names, dates and subjects. The date of a paper is that of its
first version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical
from citewell.papers import Name, Paper, Problem
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import Fields, RecordError, iso_date, opening, papers, text, text_at
from citewell.text.accents import decode_tex_accents
from citewell.text.names import parse, parse_all, person

NAME = "arXiv OAI-PMH"
PRIORITY = 80

_MAX_BRACKET_DEPTH = 5
_BRACKETED = re.compile(r"\([^()]*\)")
_BETWEEN_NAMES = re.compile(r"\s*[,;:]\s*(?:and\s+|&\s*)?|\s+(?:and|&)\s+")
_SUFFIXES = ("Jr", "Jr.", "Sr", "Sr.", "II", "III", "IV")
_DIGIT = re.compile(r"\d")
"""Subjects with digits are class codes (05C85, F.2.2), which mean nothing to most people; category names have none."""
_POSTED = re.compile(r"(\d{1,2}) ([A-Z][a-z]{2}) (\d{4})", re.ASCII)
_EXTRA = {"journal-ref": "journal-ref", "comments": "note", "report-no": "report-no", "license": "license"}


def matches(head: bytes) -> bool:
    root, start = opening(head)
    return root == "OAI-PMH" and any(sign in start for sign in ("oai:arXiv.org:", "arxiv.org/oai", "arxiv.org/OAI"))


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, ["record", "error"], _paper)


def _paper(record: _Element) -> Paper:
    if record.tag.endswith("error"):
        raise RecordError(f"arXiv reports an error: {record.get('code', '')} {text(record)}".strip())
    own = _name(text_at(record, "{*}header/{*}identifier"))
    if record.find("{*}header[@status='deleted']") is not None:
        raise RecordError(f"{own or 'the record'} was deleted by arXiv")
    described = record.find("{*}metadata/*")
    if described is None:
        raise RecordError(f"{own or 'the record'} has no metadata")
    kind = described.tag.rpartition("}")[2]
    if kind not in ("dc", "arXiv", "arXivRaw"):
        raise RecordError(f"<{kind[:40]}> is not a format of arXiv; harvest oai_dc, arXiv or arXivRaw")
    paper = _dublin_core(described) if kind == "dc" else _arxiv(described)
    own = own or _name(text(next(described.iterchildren("{*}id"), None)))
    if not own:
        raise RecordError("the record has no arXiv id")
    if not paper.title:
        raise RecordError(f"{own} has no title")
    paper.ids = clean.unique([own, *paper.ids])
    paper.year = clean.year(paper.date)
    paper.venue = paper.extra.get("journal-ref", "arXiv")
    paper.extra |= {"type": "preprint", "url": f"https://arxiv.org/abs/{own.removeprefix('arxiv:')}"}
    return paper


def _name(identifier: str) -> str:
    return canonical("arxiv", identifier.removeprefix("oai:arXiv.org:")) or ""


def _dublin_core(described: _Element) -> Paper:
    """A paper in Dublin Core, which has the least detail."""
    fields = Fields(described)
    notes = [each for each in fields.all("description") if each.startswith("Comment:")]
    abstracts = [each for each in fields.all("description") if each not in notes]
    names = fields.all("identifier")
    places = [name for name in names if not name.startswith(("doi:", "http://", "https://"))]
    extra = {
        "journal-ref": decode_tex_accents(places[0]) if places else "",
        "note": decode_tex_accents(notes[0].removeprefix("Comment:").strip()) if notes else "",
    }
    return Paper(
        title=decode_tex_accents(fields.first("title")),
        abstract=decode_tex_accents(abstracts[0]) if abstracts else "",
        authors=parse_all(map(decode_tex_accents, fields.all("creator"))),
        date=min(filter(None, map(clean.date, fields.all("date"))), default=""),
        ids=[canonical("doi", name) or "" for name in names if name.startswith("doi:")],
        keywords=[subject for subject in fields.all("subject") if not _DIGIT.search(subject)],
        extra={name: value for name, value in extra.items() if value},
    )


def _arxiv(described: _Element) -> Paper:
    """A paper in one of the two formats of arXiv itself."""
    fields = Fields(described)
    extra = {name: decode_tex_accents(fields.first(tag)) for tag, name in _EXTRA.items()}
    return Paper(
        title=decode_tex_accents(fields.first("title")),
        abstract=decode_tex_accents(fields.first("abstract")),
        authors=_authors(described.find("{*}authors")),
        date=clean.date(fields.first("created")) or _first_version(described),
        ids=[canonical("doi", doi) or "" for doi in fields.first("doi").split()],
        keywords=clean.unique(fields.first("categories").split()),
        extra={name: value for name, value in extra.items() if value},
    )


def _first_version(described: _Element) -> str:
    days = [_POSTED.search(text(date)) for date in described.iterfind("{*}version/{*}date")]
    return min((iso_date(day[3], day[2], day[1]) for day in days if day), default="")


def _authors(listed: _Element | None) -> list[Name]:
    if listed is None:
        return []
    parts = ("{*}keyname", "{*}forenames", "{*}suffix")
    described = ([decode_tex_accents(text_at(author, part)) for part in parts] for author in listed.iterfind("{*}author"))
    names = [person(*each) if any(each[1:]) else parse(each[0]) for each in described if any(each)]
    return [*dict.fromkeys(names)] or _names(decode_tex_accents(text(listed)))


def _names(line: str) -> list[Name]:
    """The names in a line such as ``A. Author, B. Author and C. Author, Jr. (Some University)``."""
    for _ in range(_MAX_BRACKET_DEPTH):
        line, cut = _BRACKETED.subn(" ", line)
        if not cut:
            break
    names: list[list[str]] = []
    for name in _BETWEEN_NAMES.split(" ".join(line.partition("(")[0].split())):
        if name in _SUFFIXES and names:
            names[-1][1:] = [name]
        else:
            names.append([name])
    return parse_all(clean.unique(map(" ".join, names)))
