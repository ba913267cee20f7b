"""A paper's row in the store: between SQL and `Paper`, and how two of them become one."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from citewell.identifiers import recognise
from citewell.papers import Paper

_SCHEMES = ("doi", "acl", "arxiv", "pmid", "pmcid", "openalex", "s2", "corpus", "dblp", "mag")
COLUMNS = "num, id, title, abstract, year, date, venue, title_key, details"


class Details(msgspec.Struct, omit_defaults=True):
    """What a paper's row holds beyond the columns that SQL looks at."""

    authors: list[str] = []
    ids: list[str] = []
    keywords: list[str] = []
    extra: dict[str, str] = {}
    also: dict[str, list[str]] = {}
    """What later sources said differently, by field."""
    sentences: int = 0


_details = msgspec.json.Decoder(Details)
_encoder = msgspec.json.Encoder()


@dataclass(slots=True)
class Row:
    """One paper of the store as the current batch sees it."""

    num: int
    paper: Paper
    new: bool = False
    changed: bool = False
    title_key: int | None = None
    sentences: int = 0
    also: dict[str, list[str]] = field(default_factory=dict)
    united: Row | None = None
    """The row that this one has become a part of."""

    def current(self) -> Row:
        row = self
        while row.united is not None:
            row = row.united
        return row

    def values(self) -> tuple[object, ...]:
        """The row's columns in the table's order."""
        paper = self.paper
        details = Details(paper.authors, paper.ids, paper.keywords, paper.extra, self.also, self.sentences)
        return (
            self.num,
            paper.id,
            paper.title,
            paper.abstract,
            paper.year,
            paper.date,
            paper.venue,
            self.title_key,
            _encoder.encode(details).decode(),
        )


def from_columns(columns: Sequence[object]) -> Row:
    """The row that `COLUMNS` of a query describe."""
    num, name, title, abstract, year, date, venue, key, text = columns
    details = _details.decode(text)  # type: ignore[arg-type]
    paper = Paper(title, abstract, details.authors, year, date, venue, details.ids, name, details.keywords, extra=details.extra)  # type: ignore[arg-type]
    return Row(num, paper, title_key=key, sentences=details.sentences, also=details.also)  # type: ignore[arg-type]


def load(db: sqlite3.Connection, num: int) -> Row:
    return from_columns(db.execute(f"SELECT {COLUMNS} FROM papers WHERE num = ?", (num,)).fetchone())


def bibliographic(paper: Paper) -> Paper:
    """A copy of what the paper's own row keeps: no references, contexts or sentences."""
    return Paper(
        paper.title,
        paper.abstract,
        paper.authors,
        paper.year,
        paper.date,
        paper.venue,
        paper.ids,
        paper.id,
        list(paper.keywords),
        extra=dict(paper.extra),
    )


def merge(row: Row, paper: Paper, keys: Sequence[str]) -> set[str]:
    """Fill what the row lacks from `paper` and note what `paper` says otherwise; returns the fields that changed."""
    kept = row.paper
    changed = set()
    for name in ("title", "abstract", "authors", "year", "date", "venue"):
        mine, theirs = getattr(kept, name), getattr(paper, name)
        if theirs in ("", None, []) or theirs == mine:
            continue
        if mine in ("", None, []) or (name == "date" and theirs.startswith(mine)):
            setattr(kept, name, theirs)
            changed.add(name)
        elif _note(row, name, theirs):
            changed.add("also")
    for name, theirs in paper.extra.items():
        if name not in kept.extra:
            kept.extra[name] = theirs
            changed.add("extra")
        elif kept.extra[name] != theirs and _note(row, name, theirs):
            changed.add("also")
    for name, given in (("ids", keys), ("keywords", paper.keywords)):
        held = getattr(kept, name)
        if fresh := [item for item in dict.fromkeys(given) if item not in held]:
            setattr(kept, name, held + fresh)
            changed.add(name)
    return changed


def _note(row: Row, name: str, value: object) -> bool:
    """Keep a differing value beside the row's own; False where it is known already."""
    text = "; ".join(value) if isinstance(value, list) else str(value)
    known = row.also.setdefault(name, [])
    if text in known:
        return False
    known.append(text)
    return True


def move(db: sqlite3.Connection, gone: int, row: Row) -> None:
    """Give everything of the stored paper `gone` to `row` and delete it."""
    if not row.sentences and db.execute("UPDATE sentences SET paper = ? WHERE paper = ?", (row.num, gone)).rowcount:
        row.sentences = db.execute("SELECT count(*) FROM sentences WHERE paper = ?", (row.num,)).fetchone()[0]
    for table, column in (
        ("ids", "paper"),
        ("citations", "citing"),
        ("citations", "cited"),
        ("waiting", "citing"),
        ("contexts", "citing"),
        ("targets", "citing"),
        ("targets", "cited"),
    ):
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {column} = ?", (row.num, gone))
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (gone,))
    db.execute("DELETE FROM citations WHERE citing = cited")
    db.execute("DELETE FROM sentences WHERE paper = ?", (gone,))
    db.execute("DELETE FROM papers WHERE num = ?", (gone,))


def mark_dirty(db: sqlite3.Connection, fields: Mapping[int, int]) -> None:
    """Note that these fields of these papers must be indexed again."""
    db.executemany(
        "INSERT INTO dirty VALUES (?, ?) ON CONFLICT DO UPDATE SET fields = fields | excluded.fields", sorted(fields.items())
    )


def scheme_rank(key: str) -> int:
    """How good a name for people an identifier is; lower is better."""
    scheme = key.partition(":")[0]
    return _SCHEMES.index(scheme) if scheme in _SCHEMES else len(_SCHEMES) + (scheme == "record")


def follows_scheme(name: str) -> bool:
    """Whether a paper of this name is found through its identifiers."""
    return recognise(name) is not None
