"""An open line to a service: what is in the cache is answered from there, the rest is asked for politely and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from citewell.fetch.cache import DAY, Cache, cache_folder
from citewell.fetch.http import DamagedAnswerError, Parameters, Polite
from citewell.fetch.site import Site
from citewell.papers import Context, Paper, Problem
from citewell.sources import Source, reader
from citewell.sources.json_records import decode


class Line:
    """How services ask; counts what it did."""

    def __init__(self, http: Polite, cache: Cache | None, told: Callable[[str], None] = lambda line: None) -> None:
        self.site = http.site
        self.address = http.address
        self.requests = 0
        """Answers that the service gave."""
        self.remembered = 0
        """Answers that the cache gave."""
        self.notes: list[str] = []
        """What the user should know about how the wish was understood."""
        self._http = http
        self._cache = cache
        self._told = told

    @property
    def refreshing(self) -> bool:
        """Whether nothing from before this run counts."""
        return self._cache is None or self._cache.refreshing

    def refresh(self) -> None:
        """From now on, only answers that come in from now on count."""
        if self._cache is not None:
            self._cache.refresh()

    def note(self, said: str) -> None:
        self.notes.append(said)
        self._told(said)

    def body(
        self,
        path: str,
        parameters: Parameters,
        *,
        form: Mapping[str, str] | None = None,
        content: object = None,
        check: Callable[[bytes], None] = lambda body: None,
    ) -> bytes:
        """The answer to a request, as it came."""
        name = ""
        if self._cache is not None:
            name = self._cache.name(self.address, path, parameters, content or form)
            if (kept := self._cache.get(name)) is not None:
                self.remembered += 1
                return kept
        body = self._http.ask(path, parameters, form=form, content=content, check=check).body
        self.requests += 1
        if self._cache is not None:
            self._cache.put(name, body)
        return body

    def json(self, path: str, parameters: Parameters, needs: str = "", content: object = None) -> Any:
        """The answer as JSON; one that is none, or lacks the field that it `needs`, is asked for again."""
        return decode(self.body(path, parameters, content=content, check=partial(whole_json, needs=needs)))

    def counted(self, path: str, parameters: Parameters) -> tuple[Any, int]:
        """The answer as JSON, never from the cache, and the ``Total-Results`` that came with it."""
        answer = self._http.ask(path, parameters, check=whole_json)
        self.requests += 1
        total = answer.headers.get("Total-Results", "")
        return decode(answer.body), int(total) if total.isascii() and total.isdigit() else 0

    def read(self, format: str, body: bytes) -> list[Paper | Context | Problem]:
        """What the reader of a format makes of an answer."""
        with Source(Path(self.site.name), held=body) as source:
            return list(reader(format).read(source))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_line(
    site: Site,
    email: str = "",
    address: str = "",
    interval: float | None = None,
    max_age: float = 7.0,
    refresh: bool = False,
    told: Callable[[str], None] = lambda line: None,
) -> Line:
    """A line to a service with the user's cache, in which answers count for `max_age` days."""
    cache = Cache(cache_folder() / site.name, max_age * DAY, refresh)
    cache.sweep()
    return Line(Polite(site, cache.folder, email, address, interval, told=told), cache, told)


def whole_json(body: bytes, needs: str = "") -> None:
    """Raises where `body` is not JSON from its beginning to its end, or not an object with the field that it `needs`."""
    try:
        answer = decode(body)
    except ValueError as error:
        raise DamagedAnswerError(f"gives an answer that is {error}") from None
    if needs and (not isinstance(answer, dict) or needs not in answer):
        raise DamagedAnswerError(f"gives an answer without {needs!r}")
