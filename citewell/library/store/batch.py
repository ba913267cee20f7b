"""One batch of records: what it knows of the store, and what it will write.

Identifiers and titles are looked up with one query each, and every table is written with one ``executemany``.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from citewell.library.store import rows, statements
from citewell.library.store.identity import title_key, title_name
from citewell.library.store.rows import Row
from citewell.library.store.statements import Statement
from citewell.papers import Paper, Sentence

OWN, CITED, CITING, CITES, CITED_BY = 1, 2, 4, 8, 16
"""Bits of what the index has of a paper: ``postings.BITS``, then ``links.BITS``."""
EVERYTHING = OWN | CITED | CITING | CITES | CITED_BY


@dataclass(slots=True)
class Writes:
    """The rows that a batch will write, by table."""

    citations: set[tuple[int, int]] = field(default_factory=set)
    waiting: dict[tuple[str, int, int], tuple[int | None, str]] = field(default_factory=dict)
    resolved: set[tuple[int, int]] = field(default_factory=set)
    contexts: list[tuple[int, int, int, str, str, str]] = field(default_factory=list)
    targets: list[tuple[int, int, int, int | None]] = field(default_factory=list)
    sentences: dict[int, list[Sentence]] = field(default_factory=dict)
    parked: list[tuple[str, int, str]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    dirty: dict[int, int] = field(default_factory=lambda: defaultdict(int))


class Batch:
    """The papers of one batch by number, identifier and title, those of the store that they concern included."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        meta = dict(db.execute("SELECT name, value FROM meta"))
        self.first_new: int = meta["next_paper"]
        self.next_paper: int = meta["next_paper"]
        self.next_context: int = meta["next_context"]
        self.keys: dict[str, int] = {}
        self.titles: dict[int, list[int]] = {}
        self.rows: dict[int, Row] = {}
        self.new_keys: dict[str, int] = {}
        self.names: set[tuple[str, int]] = set()
        self.writes = Writes()
        self._looked_up_titles: set[int] = set()

    @property
    def new_papers(self) -> int:
        """How many papers are new."""
        return sum(row.new and row.united is None for row in self.rows.values() if row.num >= self.first_new)

    # -- finding what is there already ------------------------------------------------------------------------------

    def know(self, keys: Iterable[str], titles: set[int]) -> None:
        """Look up which papers of the store have these identifiers and titles."""
        self.keys.update(self.select("SELECT key, paper FROM ids WHERE key IN", list(keys)))
        if unseen := titles - self._looked_up_titles:
            self._looked_up_titles |= unseen
            matches = self.select("SELECT title_key, num FROM papers WHERE title_key IN", list(unseen))
            names = {title_name(title): title for title in unseen}
            matches += [(names[key], num) for key, num in self.select("SELECT key, paper FROM ids WHERE key IN", list(names))]
            for title, num in matches:
                self.know_title(title, num)

    def know_title(self, title: int, num: int) -> None:
        known = self.titles.setdefault(title, [])
        if num not in known:
            known.append(num)

    def select(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a query that ends in ``IN``, for these values."""
        return self.db.execute(f"{query} (SELECT value FROM json_each(?))", (as_json(values),)).fetchall() if values else []

    def row(self, num: int) -> Row:
        """The paper of this number in this batch, or the paper that it was merged into."""
        row = self.rows.get(num)
        if row is None:
            row = self.rows[num] = rows.load(self.db, num)
        return row.current()

    def current(self, num: int) -> int:
        known = self.rows.get(num)
        return num if known is None else known.current().num

    # -- names of papers --------------------------------------------------------------------------------------------

    def name(self, num: int, paper: Paper, keys: list[str]) -> str:
        """The id that users see: the record's own if it is free, else the best identifier."""
        best = min(keys, key=rows.scheme_rank)
        given = paper.id or (paper.extra.get("citekey", "") if best.startswith("record:") else "")
        if not given:
            return best
        if rows.follows_scheme(given):
            return given
        key = f"id={given}"
        if self.keys.get(key, num) != num:
            return best
        self.keys[key] = self.new_keys[key] = num
        return given

    def register(self, row: Row, keys: Iterable[str], paper: Paper) -> None:
        """Register the row under these identifiers, the record's title and its citation key."""
        for key in keys:
            self.keys[key] = self.new_keys[key] = row.num
        if citekey := paper.extra.get("citekey"):
            self.names.add((f"key={citekey}", row.num))
        title = row.title_key if paper.title == row.paper.title else title_key(paper.title)
        if title is not None:
            self.register_title(row, title)

    def register_title(self, row: Row, title: int) -> None:
        self.know_title(title, row.num)
        if title != row.title_key:
            self.names.add((title_name(title), row.num))

    # -- writing ----------------------------------------------------------------------------------------------------

    def mark_linked(self, num: int) -> None:
        """Index the links of the papers that a paper is linked with again."""
        for citing in rows.linked(self.db, "citing", num):
            self.writes.dirty[citing] |= CITED_BY
        for cited in rows.linked(self.db, "cited", num):
            self.writes.dirty[cited] |= CITES

    def _new_citations(self) -> set[tuple[int, int]]:
        """The citations of the batch that are new; known ones need not be indexed again."""
        old = {citing for citing, _ in self.writes.citations if citing < self.first_new}
        return self.writes.citations - set(self.select("SELECT citing, cited FROM citations WHERE citing IN", sorted(old)))

    def write(self) -> None:
        """Write everything; the caller opens the transaction."""
        db, writes = self.db, self.writes
        live = [row for row in self.rows.values() if row.united is None]
        db.executemany("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (row.values() for row in live if row.new))
        db.executemany(
            "UPDATE papers SET id = ?, title = ?, abstract = ?, year = ?, date = ?, venue = ?, title_key = ?,"
            " details = ?, cuts = ? WHERE num = ?",
            ((*values[1:], values[0]) for values in (row.values() for row in live if row.changed and not row.new)),
        )
        db.executemany(
            "INSERT OR IGNORE INTO ids VALUES (?, ?)",
            ((key, self.current(num)) for names in (self.new_keys.items(), self.names) for key, num in names),
        )
        db.executemany(
            "INSERT OR IGNORE INTO sentences (paper, position, section, text, paragraph) VALUES (?, ?, ?, ?, ?)",
            (
                (num, at, s.section, s.text, s.paragraph)
                for num, sentences in writes.sentences.items()
                for at, s in enumerate(sentences, self.rows[num].sentences - len(sentences))
            ),
        )
        for citing, cited in self._new_citations():
            writes.dirty[citing] |= CITES
            writes.dirty[cited] |= CITED_BY
        db.executemany("INSERT OR IGNORE INTO citations VALUES (?, ?)", sorted(writes.citations))
        db.executemany("DELETE FROM waiting WHERE citing = ? AND reference = ?", writes.resolved)
        db.executemany(
            "INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?, ?)",
            ((*key, *rest) for key, rest in writes.waiting.items() if key[1:] not in writes.resolved),
        )
        db.executemany("INSERT INTO contexts VALUES (?, ?, ?, ?, ?, ?)", writes.contexts)
        db.executemany("INSERT OR IGNORE INTO targets VALUES (?, ?, ?, ?)", writes.targets)
        db.executemany("INSERT OR IGNORE INTO parked VALUES (?, ?, ?)", writes.parked)
        statements.write(db, writes.statements)
        rows.mark_dirty(db, writes.dirty)
        db.executemany(
            "UPDATE meta SET value = ? WHERE name = ?", [(self.next_paper, "next_paper"), (self.next_context, "next_context")]
        )


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
