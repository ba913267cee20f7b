"""Fetching papers from services: one module per service, each turning a search request into pages of Papers.

A service is a module with four names::

    SITE = Site("crossref", "Crossref", ...)                                   # its address and its rules of use
    SCHEMES = ("doi",)                                                         # the identifiers that it can look up
    def search(request: SearchRequest, client: Client) -> Iterator[Page]: ...  # by words, author and years
    def look_up(ids: list[str], client: Client) -> Iterator[Page]: ...         # by identifiers

All requests go through a `Client`, which limits their rate, retries them and caches the answers on disk, so that an interrupted
fetch resumes where it stopped. The readers of `citewell.sources` read the answers. To add a service, add the module and its
name in `SERVICES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from citewell.fetch.client import Client, open_client
from citewell.fetch.search_request import Page, SearchRequest
from citewell.fetch.site import Site

SERVICES = ("openalex", "semantic_scholar", "crossref", "arxiv", "pubmed")


class Service(Protocol):
    """The interface of every module named in `SERVICES`."""

    SITE: Site
    SCHEMES: tuple[str, ...]

    def search(self, request: SearchRequest, client: Client) -> Iterator[Page]: ...

    def look_up(self, ids: list[str], client: Client) -> Iterator[Page]: ...


def service(name: str) -> Service:
    """The service module called `name`."""
    return cast(Service, import_module(f"citewell.fetch.{name}"))


__all__ = ["SERVICES", "Client", "Page", "SearchRequest", "Service", "Site", "open_client", "service"]
