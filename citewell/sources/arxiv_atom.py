"""Search results of the arXiv API: an Atom feed with one <entry> per paper.

The date of a paper is that of its first version (<published>). If a request fails, the feed has one entry called "Error", whose
summary is the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.etree import _Element

from citewell.identifiers import canonical, recognise
from citewell.papers import Paper, Problem
from citewell.sources import clean
from citewell.sources.source import Source
from citewell.sources.xml import Fields, RecordError, opening, papers, text_at
from citewell.text.accents import decode_tex_accents
from citewell.text.names import parse_all

NAME = "arXiv Atom"
PRIORITY = 80
NO_ID = "the entry has no arXiv id"

_DIGIT = re.compile(r"\d")
"""As in arXiv's harvest, subjects with digits are class codes, which mean nothing to most people."""
_EXTRA = {"journal_ref": "journal-ref", "comment": "note"}


def matches(head: bytes) -> bool:
    root, start = opening(head)
    return root == "feed" and ("arxiv.org/schemas/atom" in start or "://arxiv.org/api" in start or "://arxiv.org/abs" in start)


def read(source: Source) -> Iterator[Paper | Problem]:
    return papers(source, ["entry"], _paper)


def _paper(entry: _Element) -> Paper:
    fields = Fields(entry)
    if "/api/errors" in fields.first("id"):
        raise RecordError(f"arXiv reports an error: {fields.first('summary')}")
    own = recognise(fields.first("id")) or ""
    if not own.startswith("arxiv:"):
        raise RecordError(NO_ID)
    title = decode_tex_accents(fields.first("title"))
    if not title:
        raise RecordError(f"{own} has no title")
    published = clean.date(fields.first("published")[:10])
    extra = {name: decode_tex_accents(fields.first(tag)) for tag, name in _EXTRA.items()}
    extra |= {"type": "preprint", "url": f"https://arxiv.org/abs/{own.removeprefix('arxiv:')}"}
    return Paper(
        title=title,
        abstract=decode_tex_accents(fields.first("summary")),
        authors=parse_all(decode_tex_accents(text_at(author, "{*}name")) for author in entry.iterfind("{*}author")),
        year=clean.year(published),
        date=published,
        venue=extra["journal-ref"] or "arXiv",
        ids=clean.unique([own, *(canonical("doi", doi) or "" for doi in fields.first("doi").split())]),
        keywords=clean.unique(
            term for category in entry.iterfind("{*}category") if not _DIGIT.search(term := category.get("term", ""))
        ),
        extra={name: value for name, value in extra.items() if value},
    )
