"""OpenAlex: works by words, by author or by identifier, paged by cursor.

Authors are looked up first and works then filtered by their ids, as OpenAlex asks for. A key is free and raises the daily
allowance. https://developers.openalex.org
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.fetch.authors import Profile, meant, orcid
from citewell.fetch.client import Line
from citewell.fetch.http import Parameters, RefusedError
from citewell.fetch.search_request import Page, Wanted, missing
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
_AT_ONCE = 50
_FIELDS = (
    "id,doi,title,display_name,ids,publication_year,publication_date,language,type,is_retracted,primary_location,authorships,"
    "biblio,keywords,referenced_works,abstract_inverted_index"
)
_FILTERS = {"doi": "doi", "pmid": "pmid", "openalex": "openalex", "mag": "mag"}
_AUTHOR = re.compile(r"(?:https://openalex\.org/)?(A\d+)", re.ASCII | re.IGNORECASE)


def search(wanted: Wanted, line: Line) -> Iterator[Page]:
    filters = _author(wanted.author, line) if wanted.author else []
    if wanted.since is not None:
        filters.append(f"from_publication_date:{wanted.since:04d}-01-01")
    if wanted.before is not None:
        filters.append(f"to_publication_date:{wanted.before - 1:04d}-12-31")
    asked: dict[str, str | int] = {"select": _FIELDS, "per_page": min(_PER_PAGE, wanted.limit)}
    if wanted.query:
        asked["search"] = wanted.query
    if filters:
        asked["filter"] = ",".join(filters)
    cursor = "*"
    given = 0
    while cursor and given < wanted.limit:
        answer = mapping(line.json("/works", {**asked, "cursor": cursor}, needs="results"))
        page = _page(answer, line)
        yield page
        works = sequence(answer.get("results"))
        given += len(works)
        cursor = text(mapping(answer.get("meta")).get("next_cursor")) if works else ""


def look_up(ids: list[str], line: Line) -> Iterator[Page]:
    """Fifty at a time; what a filter cannot hold, one by one."""
    grouped: dict[str, dict[str, str]] = {}
    for identifier in ids:
        scheme, _, value = identifier.partition(":")
        if scheme == "arxiv":
            scheme, value = "doi", f"10.48550/arxiv.{value}"
        grouped.setdefault("alone" if "," in value or "|" in value else scheme, {})[value] = identifier
    alone = grouped.pop("alone", {})
    for scheme, values in grouped.items():
        listed = list(values)
        for begin in range(0, len(listed), _AT_ONCE):
            some = listed[begin : begin + _AT_ONCE]
            asked: Parameters = {"select": _FIELDS, "per_page": _PER_PAGE, "filter": f"{_FILTERS[scheme]}:{'|'.join(some)}"}
            page = _page(mapping(line.json("/works", asked, needs="results")), line)
            page.total = None
            page.missing = missing((values[value] for value in some), page.records)
            yield page
    for value, identifier in alone.items():
        try:
            work = line.json(f"/works/doi:{value}", {"select": _FIELDS}, needs="id")
        except RefusedError as error:
            if error.status != 404:
                raise
            yield Page([], missing=[identifier])
        else:
            yield Page(line.read("openalex", msgspec.json.encode(work)))


def _page(answer: dict[str, object], line: Line) -> Page:
    total = mapping(answer.get("meta")).get("count")
    records = line.read("openalex", msgspec.json.encode({"results": sequence(answer.get("results"))}))
    return Page(records, total if isinstance(total, int) else None)


def _author(author: str, line: Line) -> list[str]:
    if number := _AUTHOR.fullmatch(author.strip()):
        return [f"authorships.author.id:{number[1].upper()}"]
    if known := orcid(author):
        return [f"authorships.author.orcid:https://orcid.org/{known}"]
    answer = mapping(line.json("/authors", {"search": author, "per_page": 50}, needs="results"))
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
    return ["authorships.author.id:" + "|".join(profile.id for profile in meant(author, profiles, line)[:_AT_ONCE])]
