"""A running Zotero, through its local API: the user's library, then group libraries.

The API is that of Zotero's servers, but nothing leaves the computer and nothing is cached. It returns the citation keys that
are part of an item; keys that Better BibTeX has not pinned are only in its own file, next to Zotero's database.
https://www.zotero.org/support/dev/web_api/v3/local_api
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.errors import CitewellError
from citewell.fetch.client import Client
from citewell.fetch.http import RefusedError, UnreachableError
from citewell.fetch.search_request import Page
from citewell.fetch.site import Site
from citewell.papers import Context, Paper, Problem
from citewell.sources.clean import Json, mapping, sequence, text
from citewell.sources.zotero import collection_paths, within
from citewell.sources.zotero_items import NOT_PAPERS, creator, paper

SITE = Site("zotero", "Zotero", "http://localhost:23119/api", interval=0.0, headers=(("Zotero-API-Version", "3"),))
_PER_PAGE = 100


def items(client: Client, collection: str = "", tag: str = "") -> Iterator[Page]:
    """Every item, or those of one collection (with its subcollections) or with one tag."""
    try:
        libraries = ["/users/0", *(f"/groups/{text(mapping(each).get('id'))}" for each in _listed("/users/0/groups", client))]
        paths = {library: _collections(library, client) for library in libraries}
        if collection:
            everywhere = {(library, key): path for library in libraries for key, path in paths[library].items()}
            chosen = within(everywhere, collection)
            starts = [(library, f"{library}/collections/{key}/items/top") for library, key in sorted(chosen)]
        else:
            starts = [(library, f"{library}/items/top") for library in libraries]
        seen: set[str] = set()
        for library, start in starts:
            yield from _pages(start, paths[library], client, tag, seen)
    except RefusedError as error:
        if error.status != 403:
            raise
        raise CitewellError(
            "Zotero does not accept requests; in its settings, under Advanced, allow other applications on this computer"
            " to communicate with it"
        ) from None
    except UnreachableError:
        raise CitewellError(
            f"Zotero is not running at {client.address}; start it, or pass its data folder instead of --api"
        ) from None


def _pages(path: str, paths: dict[str, str], client: Client, tag: str, seen: set[str]) -> Iterator[Page]:
    start = 0
    while True:
        parameters: dict[str, str | int] = {"format": "json", "start": start, "limit": _PER_PAGE}
        if tag:
            parameters["tag"] = tag
        answer, total = client.counted(path, parameters)
        listed = sequence(answer)
        records: list[Paper | Context | Problem] = []
        for each in listed:
            data = mapping(mapping(each).get("data"))
            key = text(data.get("key")) or text(mapping(each).get("key"))
            if not key:
                records.append(Problem("an item without a key"))
            elif key not in seen and text(data.get("itemType")) not in NOT_PAPERS and not data.get("deleted"):
                seen.add(key)
                records.append(_paper(key, data, mapping(mapping(each).get("meta")), paths))
        yield Page(records)
        start += len(listed)
        if not listed or start >= total:
            return


def _paper(key: str, data: Json, meta: Json, paths: dict[str, str]) -> Paper | Problem:
    creators = [
        creator(
            each.get("creatorType"), each.get("name") or each.get("lastName"), each.get("firstName"), bool(each.get("name"))
        )
        for each in map(mapping, sequence(data.get("creators")))
    ]
    tags = [mapping(each).get("tag") for each in sequence(data.get("tags"))]
    places = [paths[place] for place in map(text, sequence(data.get("collections"))) if place in paths]
    fields = data | ({"date": meta["parsedDate"]} if text(meta.get("parsedDate")) else {})
    item = paper(key, text(data.get("itemType")), fields, creators, tags, places)
    return item if item.title else Problem(f"item {key} has no title")


def _collections(library: str, client: Client) -> dict[str, str]:
    rows = []
    for each in _listed(f"{library}/collections", client):
        data = mapping(mapping(each).get("data"))
        rows.append((text(data.get("key")), text(data.get("parentCollection")) or None, text(data.get("name"))))
    return collection_paths(rows)


def _listed(path: str, client: Client) -> list[object]:
    entries: list[object] = []
    while True:
        answer, total = client.counted(path, {"start": len(entries), "limit": _PER_PAGE})
        listed = sequence(answer)
        entries += listed
        if not listed or len(entries) >= total:
            return entries
