"""A paper's row in the store: between SQL and `Paper`, and how two of them become one."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from citewell.hashing import hash64
from citewell.identifiers import recognise
from citewell.library.store.identity import Signature, title_key, title_name
from citewell.papers import Name, Paper, Sentence
from citewell.text.author_terms import families
from citewell.text.names import compact, parse, parse_all, take_people
from citewell.text.sentences import sentence_spans

_SCHEMES = ("doi", "acl", "arxiv", "pmid", "pmcid", "openalex", "s2", "corpus", "dblp", "mag")
ABSTRACT = "abstract"
"""The section of the sentences of an abstract."""
INDEXED = ("title", "abstract", "authors", "year", "date")
"""The fields of a row that the index has."""
COLUMNS = "num, id, title, abstract, year, date, venue, title_key, details"


class Details(msgspec.Struct, omit_defaults=True):
    """The fields of a paper that have no column of their own."""

    authors: list[str | Name] = []
    """As `citewell.text.names.compact` writes them."""
    ids: list[str] = []
    keywords: list[str] = []
    extra: dict[str, str] = {}
    also: dict[str, list[str]] = {}
    """Values of later sources that differ, by field; ``extra.pages`` for the field ``pages`` of `extra`."""
    sentences: int = 0
    people: dict[str, list[str | Name]] = {}


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

    def titles(self) -> set[int]:
        """The keys of all its titles."""
        keys = {self.title_key} if self.title_key is not None else set()
        if "title" in self.also:
            keys.update(key for title in self.also["title"] if (key := title_key(title)) is not None)
        return keys

    def years(self) -> set[int]:
        years = {int(year) for year in self.also.get("year", ())}
        return years if self.paper.year is None else years | {self.paper.year}

    def signature(self) -> Signature:
        """Titles, years and family names from all its sources, which identify it where it has no identifier."""
        return Signature(self.titles(), self.years(), families([*self.paper.authors, *parse_all(self.also.get("authors", ()))]))

    def columns(self) -> tuple[object, ...]:
        """The values of `COLUMNS`."""
        paper = self.paper
        authors, people = _compacted(paper.authors), {role: _compacted(names) for role, names in paper.people.items()}
        details = Details(authors, paper.ids, paper.keywords, paper.extra, self.also, self.sentences, people)
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

    def values(self) -> tuple[object, ...]:
        """The row's columns in the table's order."""
        return (*self.columns(), cuts(self.paper.abstract))


def cuts(abstract: str) -> bytes:
    """The ends of an abstract's sentences, as the store has them."""
    return np.array([end for _, end in sentence_spans(abstract)], "<u4").tobytes()


def cut(abstract: str, ends: bytes) -> list[Sentence]:
    """The sentences of an abstract, given their ends from `cuts`."""
    bounds = [0, *np.frombuffer(ends, "<u4").tolist()]
    return [Sentence(abstract[start:end].strip(), ABSTRACT) for start, end in pairwise(bounds) if abstract[start:end].strip()]


def from_columns(columns: Sequence[Any]) -> Row:
    """The row that `COLUMNS` of a query describe."""
    num, name, title, abstract, year, date, venue, key, text = columns
    details = _details.decode(text)
    paper = Paper(title, abstract, parse_all(details.authors), year, date, venue, details.ids, name, details.keywords)
    paper.extra = details.extra
    # Libraries of citewell 0.1 have the people in `extra`.
    paper.people = take_people(paper.extra) | {role: parse_all(names) for role, names in details.people.items()}
    return Row(num, paper, title_key=key, sentences=details.sentences, also=details.also)


def _compacted(names: list[Name]) -> list[str | Name]:
    return [compact(name) for name in names]


def load(db: sqlite3.Connection, num: int) -> Row:
    return from_columns(db.execute(f"SELECT {COLUMNS} FROM papers WHERE num = ?", (num,)).fetchone())


def bibliographic(paper: Paper) -> Paper:
    """A copy of what the paper's own row contains: no references, contexts or sentences."""
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
        people=dict(paper.people),
    )


def merge(row: Row, paper: Paper, keys: Sequence[str]) -> set[str]:
    """Fill empty fields of the row from `paper` and store its differing values; returns the fields that changed."""
    stored = row.paper
    changed = set()
    for name in ("title", "abstract", "authors", "year", "date", "venue"):
        mine, theirs = getattr(stored, name), getattr(paper, name)
        if theirs in ("", None, []) or theirs == mine:
            continue
        if name == "authors" and _as_text(mine) == _as_text(theirs):
            # The parts that a source gives are better than those that were guessed from the readable names.
            if mine == [parse(str(author)) for author in mine]:
                stored.authors = theirs
                changed.add("names")
            continue
        if name == "date" and stored.year is not None and not theirs.startswith(str(stored.year)):
            if note(row, name, mine, theirs):
                changed.add("also date")
        elif mine in ("", None, []) or (name == "date" and theirs.startswith(mine)):
            setattr(stored, name, theirs)
            changed.add(name)
        elif note(row, name, mine, theirs):
            changed.add(f"also {name}")
    for name, theirs in paper.extra.items():
        if name not in stored.extra:
            stored.extra[name] = theirs
            changed.add("extra")
        elif note(row, f"extra.{name}", stored.extra[name], theirs):
            changed.add("also extra")
    for role, people in paper.people.items():
        if role not in stored.people:
            stored.people[role] = people
            changed.add("people")
        elif note(row, f"people.{role}", stored.people[role], people):
            changed.add("also people")
    for name, given in (("ids", keys), ("keywords", paper.keywords)):
        present = getattr(stored, name)
        if fresh := [item for item in dict.fromkeys(given) if item not in present]:
            setattr(stored, name, present + fresh)
            changed.add(name)
    if "title" in changed:
        row.title_key = title_key(stored.title)
    return changed


def absorb(row: Row, other: Row) -> None:
    """Fill what the row lacks from `other`, and store the values of `other` and its sources that differ."""
    merge(row, other.paper, other.paper.ids)
    note(row, "id", row.paper.id, other.paper.id)
    for name, values in other.also.items():
        for value in values:
            if name == "date":
                merge(row, Paper(date=value), ())
            else:
                note(row, name, _own_value(row.paper, name), value)


def _own_value(paper: Paper, name: str) -> object:
    """The paper's own value of a field of `Row.also`."""
    part, _, key = name.partition(".")
    value: object = getattr(paper, part)
    return value.get(key, "") if isinstance(value, dict) else value


def note(row: Row, name: str, mine: object, value: object) -> bool:
    """Store a value that differs from the row's own; False where it is stored already."""
    text = _as_text(value)
    known = row.also.get(name, [])
    if name == "date":
        if any(date.startswith(text) for date in (_as_text(mine), *known)):
            return False
        known = [date for date in known if not text.startswith(date)]
    elif text == _as_text(mine) or text in known:
        return False
    row.also[name] = [*known, text]
    return True


def _as_text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def names(row: Row) -> list[str]:
    """All names under which the table of ids may list the row."""
    citekeys = [row.paper.extra.get("citekey", ""), *row.also.get("extra.citekey", ())]
    return [
        *row.paper.ids,
        *(f"id={name}" for name in (row.paper.id, *row.also.get("id", ()))),
        *(f"key={key}" for key in citekeys),
        *map(title_name, row.titles()),
    ]


def move(db: sqlite3.Connection, gone: Row, num: int) -> set[int]:
    """Give everything of a stored paper but its sentences to the paper `num` and delete it.

    Returns the papers that a duplicate context cited: one context fewer cites them.
    """
    db.executemany(
        "UPDATE OR IGNORE ids SET paper = ? WHERE key = ? AND paper = ?", [(num, key, gone.num) for key in names(gone)]
    )
    db.executemany("DELETE FROM ids WHERE key = ? AND paper = ?", [(key, gone.num) for key in names(gone)])
    for table, column in (("citations", "citing"), ("citations", "cited"), ("waiting", "citing"), ("targets", "cited")):
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {column} = ?", (num, gone.num))
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (gone.num,))
    db.execute("DELETE FROM citations WHERE citing = ? AND cited = ?", (num, num))
    db.execute("DELETE FROM sentences WHERE paper = ?", (gone.num,))
    db.execute("DELETE FROM papers WHERE num = ?", (gone.num,))
    return _move_contexts(db, gone.num, num)


def linked(db: sqlite3.Connection, column: str, num: int) -> list[int]:
    """The papers at the other end of the citations in which a paper is the `column`, ``citing`` or ``cited``."""
    other = {"citing": "cited", "cited": "citing"}[column]
    return [paper for (paper,) in db.execute(f"SELECT {other} FROM citations WHERE {column} = ?", (num,))]


def context_key(citing: int, name: str, text: str) -> int:
    """The key that makes two contexts the same."""
    return hash64(str(citing), name, text)


def _move_contexts(db: sqlite3.Connection, gone: int, num: int) -> set[int]:
    """Give the contexts of a paper to another; one that both have becomes one that cites what either did."""
    cited: set[int] = set()
    for context, name, text in db.execute("SELECT num, id, text FROM contexts WHERE citing = ?", (gone,)).fetchall():
        key = context_key(num, name, text)
        twin = db.execute("SELECT num FROM contexts WHERE key = ?", (key,)).fetchone()
        if twin is None:
            db.execute("UPDATE contexts SET key = ?, citing = ? WHERE num = ?", (key, num, context))
            db.execute("UPDATE targets SET citing = ? WHERE context = ?", (num, context))
        else:
            targets = db.execute("SELECT cited FROM targets WHERE context = ? AND cited IS NOT NULL", (context,))
            cited.update(paper for (paper,) in targets)
            db.execute("UPDATE OR IGNORE targets SET citing = ?, context = ? WHERE context = ?", (num, twin[0], context))
            db.execute("DELETE FROM targets WHERE context = ?", (context,))
            db.execute("DELETE FROM contexts WHERE num = ?", (context,))
    return cited


def mark_dirty(db: sqlite3.Connection, fields: Mapping[int, int]) -> None:
    """Note that these fields of these papers must be indexed again."""
    db.executemany(
        "INSERT INTO dirty (paper, fields) VALUES (?, ?)"
        " ON CONFLICT DO UPDATE SET fields = fields | excluded.fields, taken = 0",
        sorted(fields.items()),
    )


def scheme_rank(key: str) -> int:
    """How readable an identifier is for people; lower is better."""
    scheme = key.partition(":")[0]
    return _SCHEMES.index(scheme) if scheme in _SCHEMES else len(_SCHEMES) + (scheme == "record")


def follows_scheme(name: str) -> bool:
    """Whether a name is an identifier, so that the paper is found by it already."""
    return recognise(name) is not None
