"""A request to a service, and its answer, page by page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from citewell.identifiers import implied
from citewell.papers import Context, Paper, Problem


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to fetch."""

    query: str = ""
    author: str = ""
    """A name, an ORCID, or the id of the author at the service."""
    ids: tuple[str, ...] = ()
    """Canonical identifiers."""
    since: int | None = None
    """Only papers of this year or later."""
    before: int | None = None
    """Only papers from before this year."""
    limit: int = 200
    """The maximum number of papers of a search; all `ids` are looked up."""


@dataclass(slots=True)
class Page:
    """One page of the answer."""

    records: list[Paper | Context | Problem]
    total: int | None = None
    """How many papers match in all, if the service says so."""
    missing: list[str] = field(default_factory=list)
    """Requested identifiers that the service does not know."""


def missing(ids: Iterable[str], records: Iterable[Paper | Context | Problem]) -> list[str]:
    """Those of the requested identifiers that no paper of the answer has."""
    known = {key for record in records if isinstance(record, Paper) for own in record.ids for key in implied(own)}
    return [identifier for identifier in ids if known.isdisjoint(implied(identifier))]
