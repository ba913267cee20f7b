"""Zotero while it runs, through its local API: the user's own library, then the groups'.

The API speaks the language of Zotero's servers, but nothing leaves the computer and nothing is cached. It gives the citation
keys that are part of an item; those that Better BibTeX keeps to itself are only in its file, next to Zotero's database.
https://www.zotero.org/support/dev/web_api/v3/local_api
"""

from __future__ import annotations

from collections.abc import Iterator

from citewell.errors import CitewellError
from citewell.fetch.client import Line
from citewell.fetch.http import RefusedError, UnreachableError
from citewell.fetch.search_request import Page
from citewell.fetch.site import Site
from citewell.papers import Context, Paper, Problem
from citewell.sources.clean import Json, mapping, name, sequence, text
from citewell.sources.zotero import collection_paths, within
from citewell.sources.zotero_items import NOT_PAPERS, Creator, paper

SITE = Site("zotero", "Zotero", "http://localhost:23119/api", interval=0.0, headers=(("Zotero-API-Version", "3"),))
_PER_PAGE = 100


def items(line: Line, collection: str = "", tag: str = "") -> Iterator[Page]:
    """Every item, or those of one collection (with all below it) or with one tag."""
    try:
        shelves = ["/users/0", *(f"/groups/{text(mapping(each).get('id'))}" for each in _listed("/users/0/groups", line))]
        paths = {shelf: _collections(shelf, line) for shelf in shelves}
        if collection:
            everywhere = {(shelf, key): path for shelf in shelves for key, path in paths[shelf].items()}
            chosen = within(everywhere, collection)
            starts = [(shelf, f"{shelf}/collections/{key}/items/top") for shelf, key in sorted(chosen)]
        else:
            starts = [(shelf, f"{shelf}/items/top") for shelf in shelves]
        seen: set[str] = set()
        for shelf, start in starts:
            yield from _pages(start, paths[shelf], line, tag, seen)
    except RefusedError as error:
        if error.status != 403:
            raise
        raise CitewellError(
            "Zotero does not let other programs in; in its settings, under Advanced, allow other applications on this computer"
            " to communicate with it"
        ) from None
    except UnreachableError:
        raise CitewellError(
            f"no Zotero is running at {line.address}; start it, or name its data folder instead of --api"
        ) from None


def _pages(path: str, paths: dict[str, str], line: Line, tag: str, seen: set[str]) -> Iterator[Page]:
    start = 0
    while True:
        asked: dict[str, str | int] = {"format": "json", "start": start, "limit": _PER_PAGE}
        if tag:
            asked["tag"] = tag
        answer, total = line.counted(path, asked)
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
    creators = []
    for each in map(mapping, sequence(data.get("creators"))):
        written = name({"name": each.get("name"), "given": each.get("firstName"), "family": each.get("lastName")})
        if written:
            creators.append(Creator(text(each.get("creatorType")), written))
    tags = [mapping(each).get("tag") for each in sequence(data.get("tags"))]
    places = [paths[place] for place in map(text, sequence(data.get("collections"))) if place in paths]
    fields = data | ({"date": meta["parsedDate"]} if text(meta.get("parsedDate")) else {})
    found = paper(key, text(data.get("itemType")), fields, creators, tags, places)
    return found if found.title else Problem(f"item {key} has no title")


def _collections(shelf: str, line: Line) -> dict[str, str]:
    rows = []
    for each in _listed(f"{shelf}/collections", line):
        data = mapping(mapping(each).get("data"))
        rows.append((text(data.get("key")), text(data.get("parentCollection")) or None, text(data.get("name"))))
    return collection_paths(rows)


def _listed(path: str, line: Line) -> list[object]:
    found: list[object] = []
    while True:
        answer, total = line.counted(path, {"start": len(found), "limit": _PER_PAGE})
        listed = sequence(answer)
        found += listed
        if not listed or len(found) >= total:
            return found
