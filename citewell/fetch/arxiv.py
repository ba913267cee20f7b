"""arXiv: preprints by words, by author or by arXiv id, paged by offset, one request every three seconds.

arXiv sometimes returns an empty page in the middle of a list; such a page is requested again. All words of a query must occur
somewhere in the record of a paper; a query in arXiv's own syntax (``ti:gulls AND cat:cs.CV``) is sent unchanged.
https://info.arxiv.org/help/api/user-manual.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from citewell.errors import CitewellError
from citewell.fetch.client import Client
from citewell.fetch.http import DamagedResponseError
from citewell.fetch.search_request import Page, SearchRequest, missing
from citewell.fetch.site import Site
from citewell.papers import Problem
from citewell.sources.arxiv_atom import NO_ID

SITE = Site("arxiv", "arXiv", "https://export.arxiv.org/api", interval=3.0)
SCHEMES = ("arxiv",)
_PER_PAGE = 100
_MAX_RESULTS = 30_000
_TOTAL = re.compile(rb"<(?:\w+:)?totalResults[^>]*>\s*(\d+)\s*<")
_ENTRY = re.compile(rb"<entry[\s>]")
_ERROR = re.compile(rb"<id>\s*https?://arxiv\.org/api/errors[^<]*</id>.*?<summary>([^<]*)</summary>", re.DOTALL)
_OWN_SYNTAX = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|id|all|doi):\S")
_OPERATORS = ("AND", "OR", "ANDNOT")
_WORDS = re.compile(r'"[^"]+"|[^\s"()]+')


def search(request: SearchRequest, client: Client) -> Iterator[Page]:
    if request.limit > _MAX_RESULTS:
        raise CitewellError(
            f"arXiv returns at most {_MAX_RESULTS:,} papers per search; narrow it with --since and --before, or lower --limit"
        )
    parts = []
    if request.query:
        parts.append(f"({request.query})" if _OWN_SYNTAX.search(request.query) else _all_fields(request.query))
    if request.author:
        parts.append('au:"{}"'.format(request.author.replace('"', "")))
    if request.since is not None or request.before is not None:
        parts.append(f"submittedDate:[{request.since or 1900:04d}01010000 TO {(request.before or 2101) - 1:04d}12312359]")
    parameters = {"search_query": " AND ".join(parts), "sortBy": "relevance", "sortOrder": "descending"}
    start = 0
    while start < request.limit:
        size = min(_PER_PAGE, request.limit - start)
        body = client.body(
            "/query", {**parameters, "start": start, "max_results": size}, check=partial(_check_page, start=start)
        )
        total = _count(body)
        yield Page(client.read("arxiv_atom", body) if _ENTRY.search(body) else [], total)
        start += size
        if start >= total:
            return


def _all_fields(words: str) -> str:
    """Words in arXiv's syntax: each in any field of the record, all of them unless the user wrote OR or ANDNOT."""
    terms: list[str] = []
    operator = "AND"
    for token in _WORDS.findall(words):
        if token in _OPERATORS:
            operator = token
        elif word := token.strip(",;:.?!"):
            terms += [operator, f"all:{word}"]
            operator = "AND"
    if not terms:
        raise CitewellError(f"arXiv cannot search for {words!r}; enter words")
    return " ".join(terms[1:]) if "OR" not in terms else f"({' '.join(terms[1:])})"


def look_up(ids: list[str], client: Client) -> Iterator[Page]:
    for begin in range(0, len(ids), _PER_PAGE):
        yield _by_ids(ids[begin : begin + _PER_PAGE], client)


def _by_ids(ids: list[str], client: Client) -> Page:
    """Papers by id; if arXiv rejects one of the ids, the others are requested without it."""
    listed = ",".join(identifier.removeprefix("arxiv:") for identifier in ids)
    body = client.body("/query", {"id_list": listed, "max_results": len(ids)}, check=_check_end)
    if _ERROR.search(body):
        if len(ids) == 1:
            return Page([], missing=list(ids))
        half = len(ids) // 2
        first, second = _by_ids(ids[:half], client), _by_ids(ids[half:], client)
        return Page(first.records + second.records, None, first.missing + second.missing)
    records = client.read("arxiv_atom", body) if _ENTRY.search(body) else []
    # For an unknown id, arXiv may return an empty entry.
    records = [each for each in records if not (isinstance(each, Problem) and each.reason == NO_ID)]
    return Page(records, None, missing(ids, records))


def _check_page(body: bytes, start: int) -> None:
    """Raise if a page is truncated, contains an error, or is empty although the list continues."""
    _check_end(body)
    if error := _ERROR.search(body):
        raise CitewellError(f"arXiv does not understand the query: {error[1].decode('utf-8', 'replace').strip()}")
    if not _ENTRY.search(body) and _count(body) > start:
        raise DamagedResponseError(f"returns an empty page at {start} of {_count(body)}")


def _count(body: bytes) -> int:
    total = _TOTAL.search(body)
    return int(total[1]) if total else 0


def _check_end(body: bytes) -> None:
    if b"</feed>" not in body[-200:]:
        raise DamagedResponseError("returns a truncated answer")
