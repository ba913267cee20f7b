"""Fixtures for the tests of fetching: a server of made-up services, and clients for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_services import ROOTS, Services

from citewell.fetch import Client, service
from citewell.fetch.cache import Cache
from citewell.fetch.http import HttpSession

KEYS = ("OPENALEX_API_KEY", "S2_API_KEY", "NCBI_API_KEY", "CROSSREF_PLUS_TOKEN", "CITEWELL_EMAIL")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests do not use the keys of the user who runs them."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def services() -> Iterator[Services]:
    server = Services()
    yield server
    server.close()


@pytest.fixture
def open_client(services: Services, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Opens clients of services at the local server; they share a cache, as two runs would."""
    opened: list[Client] = []

    def open_one(name: str, refresh: bool = False, max_age: float = 3600.0, **options: Any) -> Client:
        settings = {"address": f"{services.address}/{ROOTS[name]}", "interval": 0.0, "pause": 0.01} | options
        cache = Cache(tmp_path / "cache" / name, max_age, refresh)
        opened.append(Client(HttpSession(service(name).SITE, cache.folder, **settings), cache))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()
