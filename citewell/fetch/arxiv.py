"""arXiv: preprints by words, by author or by arXiv id, paged by offset, one request every three seconds.

arXiv now and then gives an empty page in the midst of a list; such a page is asked for again. Words are looked for everywhere
in a paper's record, all of them; a query in arXiv's own language (``ti:gulls AND cat:cs.CV``) goes as it is.
https://info.arxiv.org/help/api/user-manual.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from citewell.errors import CitewellError
from citewell.fetch.client import Line
from citewell.fetch.http import DamagedAnswerError
from citewell.fetch.search_request import Page, Wanted, missing
from citewell.fetch.site import Site
from citewell.papers import Problem
from citewell.sources.arxiv_atom import NO_ID

SITE = Site("arxiv", "arXiv", "https://export.arxiv.org/api", interval=3.0)
SCHEMES = ("arxiv",)
_PER_PAGE = 100
_MOST = 30_000
_TOTAL = re.compile(rb"<(?:\w+:)?totalResults[^>]*>\s*(\d+)\s*<")
_ENTRY = re.compile(rb"<entry[\s>]")
_ERROR = re.compile(rb"<id>\s*https?://arxiv\.org/api/errors[^<]*</id>.*?<summary>([^<]*)</summary>", re.DOTALL)
_OWN_LANGUAGE = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all|doi):\S")
_OPERATORS = ("AND", "OR", "ANDNOT")
_WORDS = re.compile(r'"[^"]+"|[^\s"()]+')


def search(wanted: Wanted, line: Line) -> Iterator[Page]:
    if wanted.limit > _MOST:
        raise CitewellError(
            f"arXiv gives at most {_MOST:,} papers of a search; narrow it with --since and --before, or lower --limit"
        )
    parts = []
    if wanted.query:
        parts.append(f"({wanted.query})" if _OWN_LANGUAGE.search(wanted.query) else _everywhere(wanted.query))
    if wanted.author:
        parts.append('au:"{}"'.format(wanted.author.replace('"', "")))
    if wanted.since is not None or wanted.before is not None:
        parts.append(f"submittedDate:[{wanted.since or 1900:04d}01010000 TO {(wanted.before or 2101) - 1:04d}12312359]")
    asked = {"search_query": " AND ".join(parts), "sortBy": "relevance", "sortOrder": "descending"}
    start = 0
    while start < wanted.limit:
        size = min(_PER_PAGE, wanted.limit - start)
        body = line.body("/query", {**asked, "start": start, "max_results": size}, check=partial(_filled, start=start))
        total = _count(body)
        yield Page(line.read("arxiv_atom", body) if _ENTRY.search(body) else [], total)
        start += size
        if start >= total:
            return


def _everywhere(words: str) -> str:
    """Words in arXiv's language: each anywhere in the record, all of them unless the user wrote OR or ANDNOT."""
    terms: list[str] = []
    operator = "AND"
    for token in _WORDS.findall(words):
        if token in _OPERATORS:
            operator = token
        elif word := token.strip(",;:.?!"):
            terms += [operator, f"all:{word}"]
            operator = "AND"
    if not terms:
        raise CitewellError(f"arXiv cannot search for {words!r}; give words")
    return " ".join(terms[1:]) if "OR" not in terms else f"({' '.join(terms[1:])})"


def look_up(ids: list[str], line: Line) -> Iterator[Page]:
    for begin in range(0, len(ids), _PER_PAGE):
        some = ids[begin : begin + _PER_PAGE]
        yield _looked_up(some, line)


def _looked_up(some: list[str], line: Line) -> Page:
    """Papers by id; where arXiv takes offence at one of them, the rest is asked for without it."""
    listed = ",".join(identifier.removeprefix("arxiv:") for identifier in some)
    body = line.body("/query", {"id_list": listed, "max_results": len(some)}, check=_ended)
    if _ERROR.search(body):
        if len(some) == 1:
            return Page([], missing=list(some))
        half = len(some) // 2
        first, second = _looked_up(some[:half], line), _looked_up(some[half:], line)
        return Page(first.records + second.records, None, first.missing + second.missing)
    records = line.read("arxiv_atom", body) if _ENTRY.search(body) else []
    # For an id that it does not have, arXiv may give an entry without anything in it.
    records = [each for each in records if not (isinstance(each, Problem) and each.reason == NO_ID)]
    return Page(records, None, missing(some, records))


def _filled(body: bytes, start: int) -> None:
    """Raises where a page is cut short, is a complaint, or is empty although the list goes on."""
    _ended(body)
    if error := _ERROR.search(body):
        raise CitewellError(f"arXiv does not understand the query: {error[1].decode('utf-8', 'replace').strip()}")
    if not _ENTRY.search(body) and _count(body) > start:
        raise DamagedAnswerError(f"gives an empty page at {start} of {_count(body)}")


def _count(body: bytes) -> int:
    found = _TOTAL.search(body)
    return int(found[1]) if found else 0


def _ended(body: bytes) -> None:
    if b"</feed>" not in body[-200:]:
        raise DamagedAnswerError("gives an answer that ends too early")
