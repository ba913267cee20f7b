"""Which source said what about a paper."""

from __future__ import annotations

from dataclasses import dataclass, field

from citewell.library.library import Library
from citewell.library.store import rows, statements
from citewell.papers import Paper

_FIELDS = ("title", "authors", "year", "date", "venue", "abstract", "keywords", "ids")


@dataclass(slots=True)
class Provenance:
    """What one source says of a paper."""

    source: str
    """The path of a file or the name of a service; empty if nobody recorded it."""
    key: str
    """The name of the paper in that source, such as a citation key."""
    used: list[str] = field(default_factory=list)
    """The fields whose value in the library is from this source."""
    differs: dict[str, str] = field(default_factory=dict)
    """The fields for which it has another value than the library uses."""


def provenance(library: Library, number: int) -> list[Provenance]:
    """What each source says of a paper, in the order in which they count."""
    db = library.store.db
    names = {source.num: source.name for source in statements.sources(db)}
    merged = rows.load(db, number).paper
    settled: set[str] = set()
    result = []
    for statement in statements.about(db, number):
        key = statement.key if statement.source != statements.UNKNOWN else ""
        entry = Provenance(names.get(statement.source, ""), key)
        for name, value in _values(statements.record(db, statement)).items():
            if name not in settled:
                settled.add(name)
                entry.used.append(name)
            elif name not in ("ids", "keywords") and value != _values(merged).get(name):
                entry.differs[name] = value
        result.append(entry)
    return result


def _values(paper: Paper) -> dict[str, str]:
    """The fields of a paper that have a value, as text."""
    values = {name: getattr(paper, name) for name in _FIELDS} | paper.extra
    return {name: _text(value) for name, value in values.items() if value}


def _text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
