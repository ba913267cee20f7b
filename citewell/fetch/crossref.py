"""Crossref: works by words, by author or by DOI, with the reference lists that publishers deposit.

The first 10,000 works of a search are paged by offset, so that a fetch can resume after any pause. Larger searches use a
cursor, which Crossref forgets after five minutes: if interrupted for longer, they start again.
https://www.crossref.org/documentation/retrieve-metadata/rest-api/
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from citewell.fetch.authors import orcid
from citewell.fetch.client import Client
from citewell.fetch.http import Parameters, RefusedError
from citewell.fetch.search_request import Page, SearchRequest, missing
from citewell.fetch.site import Site
from citewell.sources.clean import Json, mapping, sequence, text

SITE = Site(
    "crossref",
    "Crossref",
    "https://api.crossref.org",
    interval=1.0,
    known_interval=0.35,
    email_counts=True,
    contact="mailto",
    key_variable="CROSSREF_PLUS_TOKEN",
    key_header="Crossref-Plus-API-Token",
    key_prefix="Bearer ",
)
SCHEMES = ("doi",)
_ROWS = 100
_PER_REQUEST = 20
_OFFSETS = 10_000


def search(request: SearchRequest, client: Client) -> Iterator[Page]:
    parameters: dict[str, str | int] = {"rows": min(_ROWS, request.limit)}
    filters = []
    if request.query:
        parameters["query.bibliographic"] = request.query
    if known := orcid(request.author):
        filters.append(f"orcid:{known}")
    elif request.author:
        parameters["query.author"] = request.author
    if request.since is not None:
        filters.append(f"from-pub-date:{request.since:04d}")
    if request.before is not None:
        filters.append(f"until-pub-date:{request.before - 1:04d}")
    if filters:
        parameters["filter"] = ",".join(filters)
    yield from (
        _by_offset(parameters, request.limit, client)
        if request.limit <= _OFFSETS
        else _by_cursor(parameters, request.limit, client)
    )


def _by_offset(parameters: dict[str, str | int], limit: int, client: Client) -> Iterator[Page]:
    offset = 0
    while offset < limit:
        rows = min(_ROWS, limit - offset)
        message = mapping(
            mapping(client.json("/works", {**parameters, "rows": rows, "offset": offset}, needs="message")).get("message")
        )
        yield _page(message, client)
        offset += rows
        if len(sequence(message.get("items"))) < rows:
            return


def _by_cursor(parameters: dict[str, str | int], limit: int, client: Client) -> Iterator[Page]:
    cursor = "*"
    count = 0
    while cursor and count < limit:
        message = mapping(mapping(client.json("/works", {**parameters, "cursor": cursor}, needs="message")).get("message"))
        yield _page(message, client)
        works = sequence(message.get("items"))
        count += len(works)
        cursor = text(message.get("next-cursor")) if works else ""


def look_up(ids: list[str], client: Client) -> Iterator[Page]:
    """Twenty per request; a DOI with a comma, which a filter cannot contain, separately."""
    without_comma = [identifier for identifier in ids if "," not in identifier]
    for begin in range(0, len(without_comma), _PER_REQUEST):
        batch = without_comma[begin : begin + _PER_REQUEST]
        # "doi:10.1000/1,doi:10.1000/2": our identifiers have the syntax of Crossref's filters; several of one kind mean OR.
        parameters: Parameters = {"filter": ",".join(batch), "rows": _ROWS}
        page = _page(mapping(mapping(client.json("/works", parameters, needs="message")).get("message")), client)
        yield Page(page.records, None, missing(batch, page.records))
    for identifier in ids:
        if "," in identifier:
            yield _single(identifier, client)


def _single(identifier: str, client: Client) -> Page:
    try:
        answer = mapping(client.json(f"/works/{quote(identifier.removeprefix('doi:'), safe='')}", {}, needs="message"))
    except RefusedError as error:
        if error.status != 404:
            raise
        return Page([], missing=[identifier])
    return _page({"items": [answer.get("message")]}, client)


def _page(message: Json, client: Client) -> Page:
    total = message.get("total-results")
    works = sequence(message.get("items"))
    records = client.read("csl_json", msgspec.json.encode(works)) if works else []
    return Page(records, total if isinstance(total, int) else None)
