"""Semantic Scholar: papers by words, by author or by identifier, with their reference lists.

A search returns ids; the papers are then requested a hundred at a time, since only these requests include references. Searches
for up to 1,000 papers are ordered by relevance; larger ones use the bulk search, which has no such order and pages by token.
https://api.semanticscholar.org/api-docs/graph
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.errors import CitewellError
from citewell.fetch.authors import Profile, matching_profiles
from citewell.fetch.client import Client
from citewell.fetch.http import Parameters, RefusedError
from citewell.fetch.search_request import Page, SearchRequest
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
_PER_REQUEST = 100
_MAX_BY_RELEVANCE = 1000
_PER_PAGE = 100
_AUTHORS_PAPERS = 1000
_AUTHOR = re.compile(r"\d+", re.ASCII)


def search(request: SearchRequest, client: Client) -> Iterator[Page]:
    if request.query and request.author:
        raise CitewellError("Semantic Scholar cannot search the papers of an author by words; use words or --author, not both")
    id_pages = _of_author(request, client) if request.author else _of_query(request, client)
    waiting: list[str] = []
    total: int | None = None
    done = 0
    for numbers, count in id_pages:
        total = count if count is not None else total
        waiting += numbers[: request.limit - done - len(waiting)]
        while len(waiting) >= _PER_REQUEST:
            batch, waiting = waiting[:_PER_REQUEST], waiting[_PER_REQUEST:]
            done += len(batch)
            yield _papers(batch, client, total)
        if done + len(waiting) >= request.limit:
            break
    if waiting or total is not None:
        yield _papers(waiting, client, total)


def look_up(ids: list[str], client: Client) -> Iterator[Page]:
    for begin in range(0, len(ids), _PER_REQUEST):
        batch = ids[begin : begin + _PER_REQUEST]
        named = {_PREFIXES[identifier.partition(":")[0]] + identifier.partition(":")[2]: identifier for identifier in batch}
        page = _papers(list(named), client, None)
        page.missing = [named[name] for name in page.missing]
        yield page


def _papers(names: list[str], client: Client, total: int | None) -> Page:
    """The papers called `names`, in that order; Semantic Scholar returns null for an unknown one."""
    if not names:
        return Page([], total)
    try:
        answer = client.json("/paper/batch", {"fields": _FIELDS}, content={"ids": names})
    except RefusedError as error:
        if error.status in (400, 404) and len(names) == 1:
            return Page([], total, list(names))
        if error.status != 400:
            raise
        # Either the answer would be larger than the service allows, or one of the names is invalid.
        half = len(names) // 2
        first, second = _papers(names[:half], client, total), _papers(names[half:], client, total)
        return Page(first.records + second.records, total, first.missing + second.missing)
    listed = sequence(answer)
    known = [each for each in listed if each is not None]
    records = client.read("semantic_scholar", msgspec.json.encode(known)) if known else []
    unknown = [name for name, each in zip(names, listed, strict=False) if each is None]
    if len(listed) != len(names):
        records.append(Problem(f"{len(names)} papers were requested and {len(listed)} returned"))
    return Page(records, total, unknown)


def _of_query(request: SearchRequest, client: Client) -> Iterator[tuple[list[str], int | None]]:
    parameters: dict[str, str | int] = {"query": request.query, "fields": "paperId"}
    if request.since is not None or request.before is not None:
        parameters["year"] = f"{request.since or ''}-{'' if request.before is None else request.before - 1}"
    if request.limit > _MAX_BY_RELEVANCE:
        token = ""
        while True:
            answer = mapping(client.json("/paper/search/bulk", parameters | ({"token": token} if token else {}), needs="total"))
            numbers = _numbers(answer)
            yield numbers, _count(answer)
            token = text(answer.get("token"))
            if not token or not numbers:
                return
    offset = 0
    while offset < request.limit:
        size = min(_PER_PAGE, request.limit - offset)
        answer = mapping(client.json("/paper/search", {**parameters, "offset": offset, "limit": size}, needs="total"))
        numbers = _numbers(answer)
        yield numbers, _count(answer)
        following = answer.get("next")
        if not numbers or not isinstance(following, int) or following <= offset:
            return
        offset = following


def _of_author(request: SearchRequest, client: Client) -> Iterator[tuple[list[str], int | None]]:
    for author in _authors(request.author, client):
        offset: object = 0
        while isinstance(offset, int):
            parameters: Parameters = {"fields": "paperId,year", "offset": offset, "limit": _AUTHORS_PAPERS}
            answer = mapping(client.json(f"/author/{author}/papers", parameters, needs="data"))
            years = [(text(mapping(each).get("paperId")), mapping(each).get("year")) for each in sequence(answer.get("data"))]
            yield [number for number, year in years if number and _in_time(year, request)], None
            following = answer.get("next")
            offset = following if isinstance(following, int) and following > offset and years else None


def _in_time(year: object, request: SearchRequest) -> bool:
    if request.since is None and request.before is None:
        return True
    return isinstance(year, int) and (request.since or 0) <= year < (request.before or 9999)


def _authors(author: str, client: Client) -> list[str]:
    if _AUTHOR.fullmatch(author.strip()):
        return [author.strip()]
    parameters: Parameters = {"query": author, "fields": "name,affiliations,paperCount", "limit": 100}
    answer = mapping(client.json("/author/search", parameters, needs="total"))
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
    return [profile.id for profile in matching_profiles(author, [profile for profile in profiles if profile.id], client)]


def _numbers(answer: Json) -> list[str]:
    return [number for each in sequence(answer.get("data")) if (number := text(mapping(each).get("paperId")))]


def _count(answer: Json) -> int | None:
    total = answer.get("total")
    return total if isinstance(total, int) else None
