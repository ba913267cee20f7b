"""What a person wants of a service, and what comes back, page by page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from citewell.identifiers import implied
from citewell.papers import Context, Paper, Problem


@dataclass(frozen=True, slots=True)
class Wanted:
    """One wish."""

    query: str = ""
    author: str = ""
    """A name, or the service's own id of the author, or an ORCID."""
    ids: tuple[str, ...] = ()
    """Canonical identifiers."""
    since: int | None = None
    """Only papers of this year or later."""
    before: int | None = None
    """Only papers from before this year."""
    limit: int = 200
    """At most so many papers of a search; identifiers are looked up all."""


@dataclass(slots=True)
class Page:
    """A part of the answer."""

    records: list[Paper | Context | Problem]
    total: int | None = None
    """How many papers the service has to this wish, where it tells."""
    missing: list[str] = field(default_factory=list)
    """Identifiers that were asked for and that the service does not know."""


def missing(asked: Iterable[str], records: Iterable[Paper | Context | Problem]) -> list[str]:
    """Those of the identifiers asked for that no paper of the answer has."""
    known = {key for record in records if isinstance(record, Paper) for given in record.ids for key in implied(given)}
    return [identifier for identifier in asked if known.isdisjoint(implied(identifier))]
