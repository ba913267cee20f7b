"""Getting papers from services: one module a service, each turning a wish into pages of Papers.

A service is a module with four names::

    SITE = Site("crossref", "Crossref", ...)                              # its address and what it asks of its users
    SCHEMES = ("doi",)                                                    # the identifiers that it can look up
    def search(wanted: Wanted, line: Line) -> Iterator[Page]: ...         # by words, author and years
    def look_up(ids: list[str], line: Line) -> Iterator[Page]: ...        # by identifiers

All asking goes through a `Line`: polite pace, retries, and a cache on disk that makes an interrupted fetch go on where it was.
What comes back is read by the same readers as files are. To add a service, add the module and its line in `SERVICES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from citewell.fetch.client import Line, open_line
from citewell.fetch.search_request import Page, Wanted
from citewell.fetch.site import Site

SERVICES = ("openalex", "semantic_scholar", "crossref", "arxiv", "pubmed")


class Service(Protocol):
    """What every module named in `SERVICES` offers."""

    SITE: Site
    SCHEMES: tuple[str, ...]

    def search(self, wanted: Wanted, line: Line) -> Iterator[Page]: ...

    def look_up(self, ids: list[str], line: Line) -> Iterator[Page]: ...


def service(name: str) -> Service:
    """The service module called `name`."""
    return cast(Service, import_module(f"citewell.fetch.{name}"))


__all__ = ["SERVICES", "Line", "Page", "Service", "Site", "Wanted", "open_line", "service"]
