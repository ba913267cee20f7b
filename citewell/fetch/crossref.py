"""Crossref: works by words, by author or by DOI, with the reference lists that publishers deposit.

The first 10,000 works of a search are paged by offset, so that a fetch can go on after any pause. More than that goes by
cursor, which Crossref forgets after five minutes: a walk that was interrupted then begins anew.
https://www.crossref.org/documentation/retrieve-metadata/rest-api/
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from citewell.fetch.authors import orcid
from citewell.fetch.client import Line
from citewell.fetch.http import Parameters, RefusedError
from citewell.fetch.search_request import Page, Wanted, missing
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
_AT_ONCE = 20
_OFFSETS = 10_000


def search(wanted: Wanted, line: Line) -> Iterator[Page]:
    asked: dict[str, str | int] = {"rows": min(_ROWS, wanted.limit)}
    filters = []
    if wanted.query:
        asked["query.bibliographic"] = wanted.query
    if known := orcid(wanted.author):
        filters.append(f"orcid:{known}")
    elif wanted.author:
        asked["query.author"] = wanted.author
    if wanted.since is not None:
        filters.append(f"from-pub-date:{wanted.since:04d}")
    if wanted.before is not None:
        filters.append(f"until-pub-date:{wanted.before - 1:04d}")
    if filters:
        asked["filter"] = ",".join(filters)
    yield from _by_offset(asked, wanted.limit, line) if wanted.limit <= _OFFSETS else _by_cursor(asked, wanted.limit, line)


def _by_offset(asked: dict[str, str | int], limit: int, line: Line) -> Iterator[Page]:
    offset = 0
    while offset < limit:
        rows = min(_ROWS, limit - offset)
        message = mapping(
            mapping(line.json("/works", {**asked, "rows": rows, "offset": offset}, needs="message")).get("message")
        )
        yield _page(message, line)
        offset += rows
        if len(sequence(message.get("items"))) < rows:
            return


def _by_cursor(asked: dict[str, str | int], limit: int, line: Line) -> Iterator[Page]:
    cursor = "*"
    given = 0
    while cursor and given < limit:
        message = mapping(mapping(line.json("/works", {**asked, "cursor": cursor}, needs="message")).get("message"))
        yield _page(message, line)
        works = sequence(message.get("items"))
        given += len(works)
        cursor = text(message.get("next-cursor")) if works else ""


def look_up(ids: list[str], line: Line) -> Iterator[Page]:
    """Twenty at a time; a DOI with a comma, which a filter cannot hold, alone."""
    together = [identifier for identifier in ids if "," not in identifier]
    for begin in range(0, len(together), _AT_ONCE):
        some = together[begin : begin + _AT_ONCE]
        # "doi:10.1000/1,doi:10.1000/2": our spelling of identifiers is Crossref's of filters, and several of a kind mean any.
        asked: Parameters = {"filter": ",".join(some), "rows": _ROWS}
        page = _page(mapping(mapping(line.json("/works", asked, needs="message")).get("message")), line)
        yield Page(page.records, None, missing(some, page.records))
    for identifier in ids:
        if "," in identifier:
            yield _alone(identifier, line)


def _alone(identifier: str, line: Line) -> Page:
    try:
        answer = mapping(line.json(f"/works/{quote(identifier.removeprefix('doi:'), safe='')}", {}, needs="message"))
    except RefusedError as error:
        if error.status != 404:
            raise
        return Page([], missing=[identifier])
    return _page({"items": [answer.get("message")]}, line)


def _page(message: Json, line: Line) -> Page:
    total = message.get("total-results")
    works = sequence(message.get("items"))
    records = line.read("csl_json", msgspec.json.encode(works)) if works else []
    return Page(records, total if isinstance(total, int) else None)
