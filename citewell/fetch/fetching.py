"""A fetch: a request goes to a service, and the papers of the answer go into the library in batches of a few hundred.

The library is locked only while a batch is added, not while waiting for the service. Everything fetched is in the library or in
the cache, so that the same command, run again after an interruption, resumes where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from citewell.errors import CitewellError
from citewell.fetch import Client, Page, SearchRequest, Service, service
from citewell.fetch.http import RefusedError
from citewell.library.add import Skipped
from citewell.library.library import Library
from citewell.library.lock import BusyError
from citewell.papers import Context, Paper, Problem
from citewell.progress import SILENT, Progress

_EXPIRED = (400, 404, 410)
"""Status codes with which services reject an expired cursor or token."""
_BATCH = 500
_BATCH_SECONDS = 30.0
_LOCK_SECONDS = 120.0
"""How long to wait for another process that writes to the library."""
_LISTED_PROBLEMS = 1000


@dataclass(slots=True)
class FetchResult:
    """The result of a fetch."""

    service: str
    total: int | None = None
    """How many papers match the request, if the service says so."""
    papers: int = 0
    """Records that describe a paper."""
    new_papers: int = 0
    """Those of them that were not in the library."""
    missing: list[str] = field(default_factory=list)
    """Identifiers that the service does not know."""
    skipped: int = 0
    problems: list[Skipped] = field(default_factory=list)
    """The first thousand skipped records."""
    requests: int = 0
    from_cache: int = 0
    notes: list[str] = field(default_factory=list)

    def skip(self, reason: str, line: int | None = None) -> None:
        self.skipped += 1
        if len(self.problems) < _LISTED_PROBLEMS:
            self.problems.append(Skipped(self.service, line, reason))


def fetch(
    library: Library,
    name: str,
    request: SearchRequest,
    client: Client,
    progress: Progress = SILENT,
    result: FetchResult | None = None,
) -> FetchResult:
    """Fetch what `request` describes from the service called `name` into the library; counts are added to `result`.

    >>> with open_client(service("crossref").SITE, email="me@example.org") as client:             # doctest: +SKIP
    ...     fetch(library, "crossref", SearchRequest("harbour photography", limit=50), client)
    """
    result = result or FetchResult(name)
    provider = service(name)
    maximum = len(request.ids) + (request.limit if request.query or request.author else 0)
    progress.start(f"fetching from {provider.SITE.title}", None, "papers")
    add_pages(library, pages(provider, request, client, result), result, progress, maximum)
    result.requests, result.from_cache, result.notes = client.requests, client.cached, client.notes
    return result


def pages(provider: Service, request: SearchRequest, client: Client, result: FetchResult) -> Iterator[Page]:
    """The answer to a request; identifiers that the service cannot look up are reported as skipped."""
    supported = []
    for identifier in dict.fromkeys(request.ids):
        if identifier.partition(":")[0] in provider.SCHEMES:
            supported.append(identifier)
        else:
            result.skip(f"{provider.SITE.title} cannot look up {identifier}; it supports {', '.join(provider.SCHEMES)}")
    by_id = provider.look_up(supported, client) if supported else iter(())
    by_search = _search(provider, request, client) if request.query or request.author else iter(())
    return chain(by_id, _limited(by_search, request.limit))


def _search(provider: Service, request: SearchRequest, client: Client) -> Iterator[Page]:
    """The pages of a search; it starts again if the service no longer accepts the cached cursor."""
    try:
        yield from provider.search(request, client)
    except RefusedError as error:
        if error.status not in _EXPIRED or not client.cached or client.refreshing:
            raise
        client.note(f"{provider.SITE.title} no longer accepts the position of this search; the search starts again")
        client.refresh()
        yield from provider.search(request, client)


def _limited(search_pages: Iterator[Page], limit: int) -> Iterator[Page]:
    """The pages of a search up to `limit` papers, each paper once: lists shift while they are being paged."""
    seen: set[str] = set()
    for page in search_pages:
        records: list[Paper | Context | Problem] = []
        for record in page.records:
            if isinstance(record, Paper):
                name = record.ids[0] if record.ids else record.title
                if name in seen or len(seen) >= limit:
                    continue
                seen.add(name)
            records.append(record)
        yield Page(records, page.total, page.missing)
        if len(seen) >= limit:
            return


def add_pages(
    library: Library,
    source: Iterator[Page],
    result: FetchResult,
    progress: Progress = SILENT,
    maximum: int | None = None,
) -> None:
    """Add pages to the library as they arrive, at most `maximum` papers; an error does not lose earlier pages."""
    batch = _Batch(library, result)
    try:
        for page in source:
            count(page, result, batch.add)
            expected = [number for number in (maximum, result.total) if number is not None]
            progress.update(result.papers, min(expected, default=None))
            batch.commit_when_due()
    except CitewellError:
        batch.commit()
        raise
    batch.commit()
    progress.finish()


def count(page: Page, result: FetchResult, add: Callable[[Paper | Context], None]) -> None:
    """Count the records of a page, and `add` those that are usable."""
    result.total = page.total if page.total is not None else result.total
    result.missing += page.missing
    for record in page.records:
        if isinstance(record, Problem):
            result.skip(record.reason, record.line)
        elif isinstance(record, Paper) and not (record.title or record.ids or record.id):
            result.skip("a record has neither a title nor an id")
        else:
            result.papers += isinstance(record, Paper)
            add(record)


class _Batch:
    """Records that wait to be added to the library."""

    def __init__(self, library: Library, result: FetchResult) -> None:
        self._library = library
        self._result = result
        self._records: list[Paper | Context] = []
        self._since = time.monotonic()

    def add(self, record: Paper | Context) -> None:
        self._records.append(record)

    def commit_when_due(self) -> None:
        """Commit a full batch; while another process writes to the library, the batch grows."""
        if len(self._records) >= _BATCH or time.monotonic() - self._since > _BATCH_SECONDS:
            with suppress(BusyError):
                self._commit()

    def commit(self) -> None:
        """Commit all records, after waiting for another writer if necessary."""
        deadline = time.monotonic() + _LOCK_SECONDS
        while self._records:
            try:
                self._commit()
            except BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def _commit(self) -> None:
        self._result.new_papers += self._library.take(self._records, source=self._result.service).new_papers
        self._records, self._since = [], time.monotonic()
