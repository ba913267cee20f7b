"""Taking a batch of records into the store: identity, merging, citations that resolve or wait, contexts.

A batch is settled in memory and written set by set: one look-up for all identifiers, one for all titles, one for everything
that waits for them, then one ``executemany`` per table. The caller wraps a batch in a transaction, so that it happens as a
whole or not at all.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from citewell.library import rows
from citewell.library.identity import hash64, paper_keys, reference_keys, same_work, same_years, title_key
from citewell.library.rows import Row
from citewell.papers import Context, Paper, Reference, Sentence

OWN, CITED, CITING = 1, 2, 4
"""Bits of the fields that an index entry is made of, in the order of ``postings.FIELDS``."""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


@dataclass(slots=True)
class _Writes:
    """What a batch will write, table by table."""

    citations: set[tuple[int, int]] = field(default_factory=set)
    waiting: dict[tuple[str, int, int], tuple[int | None, str]] = field(default_factory=dict)
    resolved: set[tuple[int, int]] = field(default_factory=set)
    contexts: list[tuple[int, int, int, str, str, str]] = field(default_factory=list)
    targets: list[tuple[int, int, int, int | None]] = field(default_factory=list)
    sentences: dict[int, list[Sentence]] = field(default_factory=dict)
    parked: list[tuple[str, int, str]] = field(default_factory=list)
    dirty: dict[int, int] = field(default_factory=lambda: defaultdict(int))


class Intake:
    """Settles one batch after another; holds nothing between them but the next free numbers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._first_new = self._next_paper = self._next_context = 0
        self._keys: dict[str, int] = {}
        self._titles: dict[int, list[int]] = {}
        self._rows: dict[int, Row] = {}
        self._new_keys: dict[str, int] = {}
        self._reference_keys: dict[int, list[str]] = {}
        self._writes = _Writes()

    def take(self, records: Sequence[Paper | Context]) -> int:
        """Take a batch into the store; returns how many papers of it are new."""
        meta = dict(self._db.execute("SELECT name, value FROM meta"))
        self._first_new = self._next_paper = meta["next_paper"]
        self._next_context = meta["next_context"]
        self._keys, self._titles, self._rows, self._new_keys = {}, {}, {}, {}
        self._reference_keys, self._writes = {}, _Writes()
        papers = [record for record in records if isinstance(record, Paper)]
        contexts = [record for record in records if isinstance(record, Context)]
        self._look_up(papers, contexts)
        settled = [(self._settle(paper), paper) for paper in papers]
        placed = self._welcome()
        for row, paper in settled:
            num = row.current().num
            for reference in paper.references:
                self._cite(num, reference)
            placed += [(num, context) for context in paper.contexts]
        for context in contexts:
            citing = self._keys.get(context.citing)
            if citing is None:
                text = _json(context)
                self._writes.parked.append((context.citing, hash64(text), text))
            else:
                placed.append((self._current(citing), context))
        self._take_contexts(placed)
        self._write()
        return sum(row.new and row.united is None for row in self._rows.values() if row.num >= self._first_new)

    # -- finding what is there already ------------------------------------------------------------------------------

    def _look_up(self, papers: Sequence[Paper], contexts: Sequence[Context]) -> None:
        keys: set[str] = {context.citing for context in contexts}
        titles: set[int] = set()
        references = [r for paper in papers for r in paper.references]
        references += [r for paper in papers for context in paper.contexts for r in context.cited]
        references += [r for context in contexts for r in context.cited]
        for paper in papers:
            keys.update(paper_keys(paper))
            keys.add(f"id:{paper.id}")
            if (title := title_key(paper.title)) is not None:
                titles.add(title)
        for reference in references:
            found = self._reference_keys[id(reference)] = reference_keys(reference)
            if found and found[-1].startswith("title:"):
                titles.add(int(found[-1][6:]))
            keys.update(found)
        self._know(keys, titles)

    def _know(self, keys: Iterable[str], titles: Iterable[int]) -> None:
        """Learn which papers of the store have these identifiers and titles."""
        self._keys.update(self._select("SELECT key, paper FROM ids WHERE key IN", list(keys)))
        for num, title in self._select("SELECT num, title_key FROM papers WHERE title_key IN", list(titles)):
            known = self._titles.setdefault(title, [])
            if num not in known:
                known.append(num)

    def _select(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a query that ends in ``IN``, for these values."""
        return self._db.execute(f"{query} (SELECT value FROM json_each(?))", (_json(values),)).fetchall() if values else []

    def _row(self, num: int) -> Row:
        """The paper of that number as this batch sees it, following papers that were united."""
        row = self._rows.get(num)
        if row is None:
            row = self._rows[num] = rows.load(self._db, num)
        return row.current()

    def _current(self, num: int) -> int:
        known = self._rows.get(num)
        return num if known is None else known.current().num

    # -- papers -----------------------------------------------------------------------------------------------------

    def _settle(self, paper: Paper) -> Row:
        """The row that `paper` belongs to: new, merged with what is there, or several that it shows to be one."""
        keys = paper_keys(paper)
        found = list(dict.fromkeys(self._row(self._keys[key]).num for key in keys if key in self._keys))
        title = title_key(paper.title)
        if not found and (twin := self._twin(paper, title, None)) is not None:
            found = [twin.num]
        if not found:
            row = self._create(paper, title, keys)
        else:
            row = self._row(min(found))
            for other in found:
                if other != row.num:
                    self._unite(row, self._row(other))
            self._merge(row, paper, keys)
        self._keep_sentences(row, paper)
        return row

    def _twin(self, paper: Paper, title: int | None, itself: int | None) -> Row | None:
        if title is None or not paper.authors or paper.year is None:
            return None
        for num in self._titles.get(title, ()):
            row = self._row(num)
            if row.num != itself and same_work(row.paper, paper):
                return row
        return None

    def _create(self, paper: Paper, title: int | None, keys: list[str]) -> Row:
        row = self._rows[self._next_paper] = Row(self._next_paper, rows.bibliographic(paper), new=True, title_key=title)
        self._next_paper += 1
        row.paper.ids = keys
        row.paper.id = self._name(row.num, paper, keys)
        self._register(row, keys, paper)
        self._writes.dirty[row.num] |= OWN
        return row

    def _name(self, num: int, paper: Paper, keys: list[str]) -> str:
        """The id that people will see: the given one where it is free, else the best identifier."""
        best = min(keys, key=rows.scheme_rank)
        given = paper.id or (paper.extra.get("citekey", "") if best.startswith("record:") else "")
        if not given:
            return best
        if rows.follows_scheme(given):
            return given
        key = f"id:{given}"
        if key in self._keys:
            return best
        self._keys[key] = self._new_keys[key] = num
        return given

    def _register(self, row: Row, keys: Iterable[str], paper: Paper) -> None:
        """From now on the row is found by these identifiers, by its title and by the source's citation key."""
        for key in keys:
            self._keys[key] = self._new_keys[key] = row.num
        if citekey := paper.extra.get("citekey"):
            self._new_keys[f"key:{citekey}"] = row.num
        if row.title_key is not None:
            known = self._titles.setdefault(row.title_key, [])
            if row.num not in known:
                known.append(row.num)

    def _merge(self, row: Row, paper: Paper, keys: list[str]) -> None:
        """Fill what the row lacks from `paper`; what it says otherwise is kept beside."""
        before = (row.paper.title, row.paper.authors, row.paper.year)
        changes = rows.merge(row, paper, keys)
        if not changes:
            return
        row.changed = True
        if changes & {"title", "abstract", "year", "date"}:
            self._writes.dirty[row.num] |= OWN
        self._register(row, [key for key in keys if key not in self._keys], paper)
        if before != (row.paper.title, row.paper.authors, row.paper.year):
            row.title_key = title_key(row.paper.title)
            if row.title_key is not None:
                self._know((), [row.title_key])
                self._register(row, (), paper)
            while (twin := self._twin(row.paper, row.title_key, row.num)) is not None:
                self._unite(row, twin)

    def _unite(self, row: Row, other: Row) -> None:
        """Two papers have turned out to be one: everything of `other` becomes `row`'s."""
        rows.merge(row, other.paper, other.paper.ids)
        row.changed = True
        other.united = row
        if row.title_key is None:
            row.title_key = other.title_key
        self._register(row, other.paper.ids, other.paper)
        self._writes.dirty[row.num] |= OWN | CITED | CITING
        pending = self._writes.sentences.pop(other.num, None)
        if not other.new:
            self._writes.dirty[other.num] |= OWN | CITED | CITING
            rows.move(self._db, other.num, row)
        elif pending and not row.sentences:
            row.sentences = other.sentences
            self._writes.sentences[row.num] = pending

    def _keep_sentences(self, row: Row, paper: Paper) -> None:
        if paper.sentences and not row.sentences:
            row.sentences = len(paper.sentences)
            row.changed = True
            self._writes.dirty[row.num] |= OWN
            self._writes.sentences[row.num] = paper.sentences

    # -- citations and contexts -------------------------------------------------------------------------------------

    def _cite(self, citing: int, reference: Reference) -> tuple[int | None, int]:
        """Note a citation; returns the cited paper, or None while it waits, and the reference's hash."""
        keys = self._reference_keys[id(reference)]
        if not keys:
            keys = [f"untraceable:{hash64(reference.title, *reference.authors)}"]
        hashed = hash64(keys[0])
        cited = self._resolve(keys, reference.year)
        if cited is not None:
            if citing < self._first_new:
                self._writes.resolved.add((citing, hashed))
            if cited != citing:
                self._writes.citations.add((citing, cited))
        else:
            details = _json(reference)
            for key in keys:
                self._writes.waiting.setdefault((key, citing, hashed), (reference.year, details if key is keys[0] else ""))
        return cited, hashed

    def _resolve(self, keys: Sequence[str], year: int | None) -> int | None:
        for key in keys:
            if key.startswith("title:"):
                for num in self._titles.get(int(key[6:]), ()):
                    if same_years(self._row(num).paper.year, year):
                        return self._row(num).num
            elif key in self._keys:
                return self._current(self._keys[key])
        return None

    def _take_contexts(self, placed: Sequence[tuple[int, Context]]) -> None:
        """Keep contexts that are not known yet, each with the number of its citing paper."""
        keys = [hash64(str(citing), context.id, context.text) for citing, context in placed]
        known = {key for (key,) in self._select("SELECT key FROM contexts WHERE key IN", keys)}
        for key, (citing, context) in zip(keys, placed, strict=True):
            found = dict.fromkeys(self._cite(citing, reference) for reference in context.cited)
            if key in known:
                continue
            known.add(key)
            num, self._next_context = self._next_context, self._next_context + 1
            self._writes.contexts.append((num, key, citing, context.id, context.section, context.text))
            self._writes.dirty[citing] |= CITING
            for cited, hashed in found:
                self._writes.targets.append((num, hashed, citing, cited))
                if cited is not None:
                    self._writes.dirty[cited] |= CITED

    def _welcome(self) -> list[tuple[int, Context]]:
        """Resolve what has waited for the papers of this batch; returns the parked contexts that have found their place."""
        arrived = list(self._new_keys)
        arrived += [
            f"title:{row.title_key}" for row in self._rows.values() if row.title_key is not None and (row.new or row.changed)
        ]
        for key, citing, reference, year in self._select(
            "SELECT key, citing, reference, year FROM waiting WHERE key IN", arrived
        ):
            cited = self._resolve([key], year)
            if cited is None:
                continue
            self._writes.resolved.add((citing, reference))
            if cited != citing:
                self._writes.citations.add((citing, cited))
            if self._db.execute(
                "UPDATE targets SET cited = ? WHERE citing = ? AND reference = ? AND cited IS NULL", (cited, citing, reference)
            ).rowcount:
                self._writes.dirty[cited] |= CITED
        parked = self._select("SELECT key, hash, context FROM parked WHERE key IN", arrived)
        contexts = [(key, msgspec.json.decode(text, type=Context)) for key, _, text in parked]
        self._look_up([], [context for _, context in contexts])
        self._db.executemany("DELETE FROM parked WHERE key = ? AND hash = ?", [row[:2] for row in parked])
        return [(self._current(self._keys[key]), context) for key, context in contexts]

    # -- writing ----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        db, writes = self._db, self._writes
        live = [row for row in self._rows.values() if row.united is None]
        db.executemany("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (row.values() for row in live if row.new))
        db.executemany(
            "UPDATE papers SET id = ?2, title = ?3, abstract = ?4, year = ?5, date = ?6, venue = ?7, title_key = ?8,"
            " details = ?9 WHERE num = ?1",
            (row.values() for row in live if row.changed and not row.new),
        )
        db.executemany(
            "INSERT OR IGNORE INTO ids VALUES (?, ?)", ((key, self._current(num)) for key, num in self._new_keys.items())
        )
        db.executemany(
            "INSERT OR IGNORE INTO sentences VALUES (?, ?, ?, ?)",
            ((num, at, s.section, s.text) for num, sentences in writes.sentences.items() for at, s in enumerate(sentences)),
        )
        db.executemany("INSERT OR IGNORE INTO citations VALUES (?, ?)", sorted(writes.citations))
        db.executemany("DELETE FROM waiting WHERE citing = ? AND reference = ?", writes.resolved)
        db.executemany(
            "INSERT OR IGNORE INTO waiting VALUES (?, ?, ?, ?, ?)",
            ((*key, *rest) for key, rest in writes.waiting.items() if key[1:] not in writes.resolved),
        )
        db.executemany("INSERT INTO contexts VALUES (?, ?, ?, ?, ?, ?)", writes.contexts)
        db.executemany("INSERT OR IGNORE INTO targets VALUES (?, ?, ?, ?)", writes.targets)
        db.executemany("INSERT OR IGNORE INTO parked VALUES (?, ?, ?)", writes.parked)
        rows.mark_dirty(db, writes.dirty)
        db.executemany(
            "UPDATE meta SET value = ? WHERE name = ?", [(self._next_paper, "next_paper"), (self._next_context, "next_context")]
        )
