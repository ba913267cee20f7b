"""Client of one service: answers come from the cache where possible, else from the service, and are then cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from citewell.fetch.cache import DAY, Cache, cache_folder
from citewell.fetch.http import DamagedResponseError, HttpSession, Parameters
from citewell.fetch.site import Site
from citewell.papers import Context, Paper, Problem, Remainder
from citewell.sources import Source, reader
from citewell.sources.json_records import decode


class Client:
    """Sends the requests of one service and counts them."""

    def __init__(self, http: HttpSession, cache: Cache | None, on_message: Callable[[str], None] = lambda line: None) -> None:
        self.site = http.site
        self.address = http.address
        self.requests = 0
        """Number of answers from the service."""
        self.cached = 0
        """Number of answers from the cache."""
        self.notes: list[str] = []
        """What the user should know about how the request was interpreted."""
        self._http = http
        self._cache = cache
        self._on_message = on_message

    @property
    def refreshing(self) -> bool:
        """Whether answers from before this run are ignored."""
        return self._cache is None or self._cache.refreshing

    def refresh(self) -> None:
        """Ignore all cached answers from before now."""
        if self._cache is not None:
            self._cache.refresh()

    def note(self, message: str) -> None:
        self.notes.append(message)
        self._on_message(message)

    def body(
        self,
        path: str,
        parameters: Parameters,
        *,
        form: Mapping[str, str] | None = None,
        content: object = None,
        check: Callable[[bytes], None] = lambda body: None,
    ) -> bytes:
        """The body of the answer to a request."""
        name = ""
        if self._cache is not None:
            name = self._cache.name(self.address, path, parameters, content or form)
            if (stored := self._cache.get(name)) is not None:
                self.cached += 1
                return stored
        body = self._http.request(path, parameters, form=form, content=content, check=check).body
        self.requests += 1
        if self._cache is not None:
            self._cache.put(name, body)
        return body

    def json(self, path: str, parameters: Parameters, needs: str = "", content: object = None) -> Any:
        """The answer as JSON; the request is repeated if it is not JSON or lacks the field that it `needs`."""
        return decode(self.body(path, parameters, content=content, check=partial(check_json, needs=needs)))

    def counted(self, path: str, parameters: Parameters) -> tuple[Any, int]:
        """The answer as JSON, never from the cache, and its ``Total-Results`` header."""
        answer = self._http.request(path, parameters, check=check_json)
        self.requests += 1
        total = answer.headers.get("Total-Results", "")
        return decode(answer.body), int(total) if total.isascii() and total.isdigit() else 0

    def read(self, format: str, body: bytes) -> list[Paper | Context | Problem]:
        """The records that the reader of a format finds in an answer."""
        with Source(Path(self.site.name), content=body) as source:
            return [record for record in reader(format).read(source) if not isinstance(record, Remainder)]

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_client(
    site: Site,
    email: str = "",
    address: str = "",
    interval: float | None = None,
    max_age: float = 7.0,
    refresh: bool = False,
    on_message: Callable[[str], None] = lambda line: None,
) -> Client:
    """A client with the user's cache, in which answers are valid for `max_age` days."""
    cache = Cache(cache_folder() / site.name, max_age * DAY, refresh)
    cache.sweep()
    return Client(HttpSession(site, cache.folder, email, address, interval, on_message=on_message), cache, on_message)


def check_json(body: bytes, needs: str = "") -> None:
    """Raise if `body` is not complete JSON, or not an object with the field that it `needs`."""
    try:
        answer = decode(body)
    except ValueError as error:
        raise DamagedResponseError(f"returns an answer that is {error}") from None
    if needs and (not isinstance(answer, dict) or needs not in answer):
        raise DamagedResponseError(f"returns an answer without {needs!r}")
