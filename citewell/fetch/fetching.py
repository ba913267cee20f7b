"""A fetch: a wish goes to a service, and what comes back goes into the library, some hundred papers at a time.

The library is locked only while a batch is taken in, not while a service is waited for. Whatever has been fetched is in the
library or in the cache, so that the same command, run again after a kill, goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from citewell.errors import CitewellError
from citewell.fetch import Line, Page, Service, Wanted, service
from citewell.fetch.http import RefusedError
from citewell.library.add import Skipped
from citewell.library.library import Library
from citewell.library.lock import BusyError
from citewell.papers import Context, Paper, Problem
from citewell.progress import SILENT, Progress

_FORGOTTEN = (400, 404, 410)
"""How services say that they do not know a cursor or a token."""
_BATCH = 500
_BATCH_SECONDS = 30.0
_WRITER_SECONDS = 120.0
"""How long another writer of the library is waited for."""
_LISTED_PROBLEMS = 1000


@dataclass(slots=True)
class Fetched:
    """What a fetch did."""

    service: str
    total: int | None = None
    """How many papers the service has to the wish, where it tells."""
    papers: int = 0
    """Records that describe a paper."""
    new_papers: int = 0
    """Those of them that the library did not have."""
    missing: list[str] = field(default_factory=list)
    """Identifiers that the service does not know."""
    skipped: int = 0
    problems: list[Skipped] = field(default_factory=list)
    """The first thousand of the records that were skipped."""
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
    wanted: Wanted,
    line: Line,
    progress: Progress = SILENT,
    outcome: Fetched | None = None,
) -> Fetched:
    """Fetch what is wanted from the service called `name` into the library; an `outcome` that is given is gone on with.

    >>> with open_line(service("crossref").SITE, email="me@example.org") as line:             # doctest: +SKIP
    ...     fetch(library, "crossref", Wanted("harbour photography", limit=50), line)
    """
    outcome = outcome or Fetched(name)
    asked = service(name)
    progress.start(f"fetching from {asked.SITE.title}", None, "papers")
    most = len(wanted.ids) + (wanted.limit if wanted.query or wanted.author else 0)
    take(library, pages(asked, wanted, line, outcome), outcome, progress, most)
    outcome.requests, outcome.from_cache, outcome.notes = line.requests, line.remembered, line.notes
    return outcome


def pages(asked: Service, wanted: Wanted, line: Line, outcome: Fetched) -> Iterator[Page]:
    """The answer to a wish; identifiers that the service cannot look up are skipped and told."""
    known = [identifier for identifier in dict.fromkeys(wanted.ids) if identifier.partition(":")[0] in asked.SCHEMES]
    for identifier in dict.fromkeys(wanted.ids):
        if identifier.partition(":")[0] not in asked.SCHEMES:
            outcome.skip(f"{asked.SITE.title} cannot look up {identifier}; it knows {', '.join(asked.SCHEMES)}")
    looked_up = asked.look_up(known, line) if known else iter(())
    searched = _searched(asked, wanted, line) if wanted.query or wanted.author else iter(())
    return chain(looked_up, _limited(searched, wanted.limit))


def _searched(asked: Service, wanted: Wanted, line: Line) -> Iterator[Page]:
    """The pages of a search; a service that has forgotten the place which the cache remembers is asked from the beginning."""
    try:
        yield from asked.search(wanted, line)
    except RefusedError as error:
        if error.status not in _FORGOTTEN or not line.remembered or line.refreshing:
            raise
        line.note(f"{asked.SITE.title} no longer knows where this search stood; it is walked through anew")
        line.refresh()
        yield from asked.search(wanted, line)


def _limited(searched: Iterator[Page], limit: int) -> Iterator[Page]:
    """The pages of a search up to so many papers, each once: lists shift while they are walked through."""
    seen: set[str] = set()
    for page in searched:
        kept: list[Paper | Context | Problem] = []
        for record in page.records:
            if isinstance(record, Paper):
                name = record.ids[0] if record.ids else record.title
                if name in seen or len(seen) >= limit:
                    continue
                seen.add(name)
            kept.append(record)
        yield Page(kept, page.total, page.missing)
        if len(seen) >= limit:
            return


def take(library: Library, found: Iterator[Page], outcome: Fetched, progress: Progress, most: int | None = None) -> None:
    """Take pages into the library as they come, `most` papers or fewer; an error does not cost what came before it."""
    batch = _Batch(library, outcome)
    try:
        for page in found:
            gather(page, outcome, batch.add)
            expected = [count for count in (most, outcome.total) if count is not None]
            progress.update(outcome.papers, min(expected, default=None))
            batch.commit_when_due()
    except CitewellError:
        batch.commit()
        raise
    batch.commit()


def gather(page: Page, outcome: Fetched, keep: Callable[[Paper | Context], None]) -> None:
    """Count what a page holds, and keep what can be kept."""
    outcome.total = page.total if page.total is not None else outcome.total
    outcome.missing += page.missing
    for record in page.records:
        if isinstance(record, Problem):
            outcome.skip(record.reason, record.line)
        elif isinstance(record, Paper) and not (record.title or record.ids or record.id):
            outcome.skip("a record has neither a title nor an id")
        else:
            outcome.papers += isinstance(record, Paper)
            keep(record)


class _Batch:
    """Records on their way into the library."""

    def __init__(self, library: Library, outcome: Fetched) -> None:
        self._library = library
        self._outcome = outcome
        self._records: list[Paper | Context] = []
        self._since = time.monotonic()

    def add(self, record: Paper | Context) -> None:
        self._records.append(record)

    def commit_when_due(self) -> None:
        """Commit where there is enough to commit; while another process writes, the batch grows."""
        if len(self._records) >= _BATCH or time.monotonic() - self._since > _BATCH_SECONDS:
            with suppress(BusyError):
                self._take()

    def commit(self) -> None:
        """Commit what there is, after another writer if need be."""
        deadline = time.monotonic() + _WRITER_SECONDS
        while self._records:
            try:
                self._take()
            except BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def _take(self) -> None:
        self._outcome.new_papers += self._library.take(self._records).new_papers
        self._records, self._since = [], time.monotonic()
