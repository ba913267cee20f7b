"""OpenAlex: works by words, by author or by identifier, paged by cursor.

Authors are looked up first and works then filtered by their ids, as OpenAlex recommends. A key is free and raises the daily
limit. https://developers.openalex.org
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.fetch.authors import Profile, matching_profiles, orcid
from citewell.fetch.client import Client
from citewell.fetch.http import Parameters, RefusedError
from citewell.fetch.search_request import Page, SearchRequest, missing
from citewell.fetch.site import Site
from citewell.sources.clean import mapping, sequence, strings, text

SITE = Site(
    "openalex",
    "OpenAlex",
    "https://api.openalex.org",
    interval=0.1,
    contact="mailto",
    key_variable="OPENALEX_API_KEY",
    key_parameter="api_key",
)
SCHEMES = ("doi", "arxiv", "pmid", "openalex", "mag")
_PER_PAGE = 100
_PER_REQUEST = 50
_FIELDS = (
    "id,doi,title,display_name,ids,publication_year,publication_date,language,type,is_retracted,primary_location,authorships,"
    "biblio,keywords,referenced_works,abstract_inverted_index"
)
_FILTERS = {"doi": "doi", "pmid": "pmid", "openalex": "openalex", "mag": "mag"}
_AUTHOR = re.compile(r"(?:https://openalex\.org/)?(A\d+)", re.ASCII | re.IGNORECASE)


def search(request: SearchRequest, client: Client) -> Iterator[Page]:
    filters = _author(request.author, client) if request.author else []
    if request.since is not None:
        filters.append(f"from_publication_date:{request.since:04d}-01-01")
    if request.before is not None:
        filters.append(f"to_publication_date:{request.before - 1:04d}-12-31")
    parameters: dict[str, str | int] = {"select": _FIELDS, "per_page": min(_PER_PAGE, request.limit)}
    if request.query:
        parameters["search"] = request.query
    if filters:
        parameters["filter"] = ",".join(filters)
    cursor = "*"
    count = 0
    while cursor and count < request.limit:
        answer = mapping(client.json("/works", {**parameters, "cursor": cursor}, needs="results"))
        page = _page(answer, client)
        yield page
        works = sequence(answer.get("results"))
        count += len(works)
        cursor = text(mapping(answer.get("meta")).get("next_cursor")) if works else ""


def look_up(ids: list[str], client: Client) -> Iterator[Page]:
    """Fifty per request; identifiers that a filter cannot contain, one by one."""
    grouped: dict[str, dict[str, str]] = {}
    for identifier in ids:
        scheme, _, value = identifier.partition(":")
        if scheme == "arxiv":
            scheme, value = "doi", f"10.48550/arxiv.{value}"
        grouped.setdefault("single" if "," in value or "|" in value else scheme, {})[value] = identifier
    single = grouped.pop("single", {})
    for scheme, values in grouped.items():
        listed = list(values)
        for begin in range(0, len(listed), _PER_REQUEST):
            batch = listed[begin : begin + _PER_REQUEST]
            parameters: Parameters = {
                "select": _FIELDS,
                "per_page": _PER_PAGE,
                "filter": f"{_FILTERS[scheme]}:{'|'.join(batch)}",
            }
            page = _page(mapping(client.json("/works", parameters, needs="results")), client)
            page.total = None
            page.missing = missing((values[value] for value in batch), page.records)
            yield page
    for value, identifier in single.items():
        try:
            work = client.json(f"/works/doi:{value}", {"select": _FIELDS}, needs="id")
        except RefusedError as error:
            if error.status != 404:
                raise
            yield Page([], missing=[identifier])
        else:
            yield Page(client.read("openalex", msgspec.json.encode(work)))


def _page(answer: dict[str, object], client: Client) -> Page:
    total = mapping(answer.get("meta")).get("count")
    records = client.read("openalex", msgspec.json.encode({"results": sequence(answer.get("results"))}))
    return Page(records, total if isinstance(total, int) else None)


def _author(author: str, client: Client) -> list[str]:
    if number := _AUTHOR.fullmatch(author.strip()):
        return [f"authorships.author.id:{number[1].upper()}"]
    if known := orcid(author):
        return [f"authorships.author.orcid:https://orcid.org/{known}"]
    answer = mapping(client.json("/authors", {"search": author, "per_page": 50}, needs="results"))
    profiles = []
    for each in map(mapping, sequence(answer.get("results"))):
        where = [text(mapping(place).get("display_name")) for place in sequence(each.get("last_known_institutions"))]
        works = each.get("works_count")
        profiles.append(
            Profile(
                text(each.get("id")).rpartition("/")[2],
                (text(each.get("display_name")), *strings(each.get("display_name_alternatives"))),
                where[0] if where else "",
                works if isinstance(works, int) else 0,
            )
        )
    return [
        "authorships.author.id:"
        + "|".join(profile.id for profile in matching_profiles(author, profiles, client)[:_PER_REQUEST])
    ]
