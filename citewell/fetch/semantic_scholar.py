"""Semantic Scholar: papers by words, by author or by identifier, with their reference lists.

A search gives ids alone; the papers are then had by the hundred, since only that way come their references. Up to 1,000
papers a search goes by relevance; beyond that it is the bulk search, which knows no relevance and pages by token.
https://api.semanticscholar.org/api-docs/graph
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.errors import CitewellError
from citewell.fetch.authors import Profile, meant
from citewell.fetch.client import Line
from citewell.fetch.http import Parameters, RefusedError
from citewell.fetch.search_request import Page, Wanted
from citewell.fetch.site import Site
from citewell.papers import Problem
from citewell.sources.clean import Json, mapping, sequence, text

SITE = Site(
    "semantic_scholar",
    "Semantic Scholar",
    "https://api.semanticscholar.org/graph/v1",
    interval=1.0,
    key_variable="S2_API_KEY",
    key_header="x-api-key",
)
SCHEMES = ("s2", "doi", "arxiv", "pmid", "pmcid", "acl", "mag", "corpus")
_FIELDS = (
    "paperId,corpusId,externalIds,title,abstract,year,publicationDate,venue,publicationVenue,journal,publicationTypes,authors,"
    "s2FieldsOfStudy,url,references.paperId,references.externalIds,references.title,references.year"
)
_PREFIXES = {
    "doi": "DOI:",
    "arxiv": "ARXIV:",
    "pmid": "PMID:",
    "pmcid": "PMCID:",
    "acl": "ACL:",
    "mag": "MAG:",
    "corpus": "CorpusId:",
    "s2": "",
}
_AT_ONCE = 100
_RELEVANT = 1000
_PER_PAGE = 100
_AUTHORS_PAPERS = 1000
_AUTHOR = re.compile(r"\d+", re.ASCII)


def search(wanted: Wanted, line: Line) -> Iterator[Page]:
    if wanted.query and wanted.author:
        raise CitewellError("Semantic Scholar cannot search an author's papers by words; give the words or --author, not both")
    found = _of_author(wanted, line) if wanted.author else _of_query(wanted, line)
    waiting: list[str] = []
    total: int | None = None
    given = 0
    for numbers, count in found:
        total = count if count is not None else total
        waiting += numbers[: wanted.limit - given - len(waiting)]
        while len(waiting) >= _AT_ONCE:
            some, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            given += len(some)
            yield _papers(some, line, total)
        if given + len(waiting) >= wanted.limit:
            break
    if waiting or total is not None:
        yield _papers(waiting, line, total)


def look_up(ids: list[str], line: Line) -> Iterator[Page]:
    for begin in range(0, len(ids), _AT_ONCE):
        some = ids[begin : begin + _AT_ONCE]
        named = {_PREFIXES[identifier.partition(":")[0]] + identifier.partition(":")[2]: identifier for identifier in some}
        page = _papers(list(named), line, None)
        page.missing = [named[name] for name in page.missing]
        yield page


def _papers(names: list[str], line: Line, total: int | None) -> Page:
    """The papers called `names`, in the order asked for; Semantic Scholar says null for one that it does not know."""
    if not names:
        return Page([], total)
    try:
        answer = line.json("/paper/batch", {"fields": _FIELDS}, content={"ids": names})
    except RefusedError as error:
        if error.status in (400, 404) and len(names) == 1:
            return Page([], total, list(names))
        if error.status != 400:
            raise
        # Either the answer would be larger than the service allows, or one name spoils the rest.
        half = len(names) // 2
        first, second = _papers(names[:half], line, total), _papers(names[half:], line, total)
        return Page(first.records + second.records, total, first.missing + second.missing)
    listed = sequence(answer)
    known = [each for each in listed if each is not None]
    records = line.read("semantic_scholar", msgspec.json.encode(known)) if known else []
    unknown = [name for name, each in zip(names, listed, strict=False) if each is None]
    if len(listed) != len(names):
        records.append(Problem(f"{len(names)} papers were asked for and {len(listed)} answers came"))
    return Page(records, total, unknown)


def _of_query(wanted: Wanted, line: Line) -> Iterator[tuple[list[str], int | None]]:
    asked: dict[str, str | int] = {"query": wanted.query, "fields": "paperId"}
    if wanted.since is not None or wanted.before is not None:
        asked["year"] = f"{wanted.since or ''}-{'' if wanted.before is None else wanted.before - 1}"
    if wanted.limit > _RELEVANT:
        token = ""
        while True:
            answer = mapping(line.json("/paper/search/bulk", asked | ({"token": token} if token else {}), needs="total"))
            numbers = _numbers(answer)
            yield numbers, _count(answer)
            token = text(answer.get("token"))
            if not token or not numbers:
                return
    offset = 0
    while offset < wanted.limit:
        size = min(_PER_PAGE, wanted.limit - offset)
        answer = mapping(line.json("/paper/search", {**asked, "offset": offset, "limit": size}, needs="total"))
        numbers = _numbers(answer)
        yield numbers, _count(answer)
        following = answer.get("next")
        if not numbers or not isinstance(following, int) or following <= offset:
            return
        offset = following


def _of_author(wanted: Wanted, line: Line) -> Iterator[tuple[list[str], int | None]]:
    for author in _authors(wanted.author, line):
        offset: object = 0
        while isinstance(offset, int):
            asked: Parameters = {"fields": "paperId,year", "offset": offset, "limit": _AUTHORS_PAPERS}
            answer = mapping(line.json(f"/author/{author}/papers", asked, needs="data"))
            years = [(text(mapping(each).get("paperId")), mapping(each).get("year")) for each in sequence(answer.get("data"))]
            yield [number for number, year in years if number and _in_time(year, wanted)], None
            following = answer.get("next")
            offset = following if isinstance(following, int) and following > offset and years else None


def _in_time(year: object, wanted: Wanted) -> bool:
    if wanted.since is None and wanted.before is None:
        return True
    return isinstance(year, int) and (wanted.since or 0) <= year < (wanted.before or 9999)


def _authors(author: str, line: Line) -> list[str]:
    if _AUTHOR.fullmatch(author.strip()):
        return [author.strip()]
    asked: Parameters = {"query": author, "fields": "name,affiliations,paperCount", "limit": 100}
    answer = mapping(line.json("/author/search", asked, needs="total"))
    profiles = []
    for each in map(mapping, sequence(answer.get("data"))):
        where = [text(place) for place in sequence(each.get("affiliations"))]
        works = each.get("paperCount")
        profiles.append(
            Profile(
                text(each.get("authorId")),
                (text(each.get("name")),),
                where[0] if where else "",
                works if isinstance(works, int) else 0,
            )
        )
    return [profile.id for profile in meant(author, [profile for profile in profiles if profile.id], line)]


def _numbers(answer: Json) -> list[str]:
    return [number for each in sequence(answer.get("data")) if (number := text(mapping(each).get("paperId")))]


def _count(answer: Json) -> int | None:
    total = answer.get("total")
    return total if isinstance(total, int) else None
