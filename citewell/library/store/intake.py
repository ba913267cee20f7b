"""Storing a batch of records: identity, merging, citations (resolved or not), contexts.

A batch is processed in memory and written table by table: one query for all identifiers, one for all titles, one for the
unresolved references to them, then one ``executemany`` per table. The caller wraps a batch in a transaction.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from citewell.hashing import hash64
from citewell.identifiers import implied
from citewell.library.store import rows
from citewell.library.store.identity import (
    Signature,
    paper_keys,
    reference_hash,
    reference_ids,
    reference_title,
    same_work,
    same_years,
    title_key,
    title_name,
    waiting_keys,
)
from citewell.library.store.rows import Row
from citewell.papers import Context, Paper, Reference, Sentence
from citewell.text.author_terms import families

OWN, CITED, CITING, CITES, CITED_BY = 1, 2, 4, 8, 16
"""Bits of what the index has of a paper: ``postings.BITS``, then ``links.BITS``."""
EVERYTHING = OWN | CITED | CITING | CITES | CITED_BY

_IDENTITY = {"title", "authors", "year", "also title", "also authors", "also year"}
"""Changes after which a paper may turn out to be the same as another."""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


@dataclass(slots=True)
class _Writes:
    """The rows that a batch will write, by table."""

    citations: set[tuple[int, int]] = field(default_factory=set)
    waiting: dict[tuple[str, int, int], tuple[int | None, str]] = field(default_factory=dict)
    resolved: set[tuple[int, int]] = field(default_factory=set)
    contexts: list[tuple[int, int, int, str, str, str]] = field(default_factory=list)
    targets: list[tuple[int, int, int, int | None]] = field(default_factory=list)
    sentences: dict[int, list[Sentence]] = field(default_factory=dict)
    parked: list[tuple[str, int, str]] = field(default_factory=list)
    dirty: dict[int, int] = field(default_factory=lambda: defaultdict(int))


class Intake:
    """Stores one batch after another."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._first_new = self._next_paper = self._next_context = 0
        self._keys: dict[str, int] = {}
        self._titles: dict[int, list[int]] = {}
        self._looked_up_titles: set[int] = set()
        self._rows: dict[int, Row] = {}
        self._new_keys: dict[str, int] = {}
        self._names: set[tuple[str, int]] = set()
        self._reference_keys: dict[int, tuple[list[str], int | None]] = {}
        self._writes = _Writes()

    def take(self, records: Sequence[Paper | Context]) -> int:
        """Store a batch; returns how many of its papers are new."""
        meta = dict(self._db.execute("SELECT name, value FROM meta"))
        self._first_new = self._next_paper = meta["next_paper"]
        self._next_context = meta["next_context"]
        self._keys, self._titles, self._looked_up_titles, self._rows = {}, {}, set(), {}
        self._new_keys, self._names, self._reference_keys, self._writes = {}, set(), {}, _Writes()
        papers = [record for record in records if isinstance(record, Paper)]
        contexts = [record for record in records if isinstance(record, Context)]
        self._look_up(papers, contexts)
        settled = [(self._settle(paper), paper) for paper in papers]
        placed = self._resolve_waiting()
        for row, paper in settled:
            num = row.current().num
            for reference in paper.references:
                self._cite(num, reference)
            placed += [(num, context) for context in paper.contexts]
        for context in contexts:
            keys = implied(context.citing)
            citing = next((self._keys[key] for key in keys if key in self._keys), None)
            if citing is None:
                text = _json(context)
                self._writes.parked.append((keys[-1], hash64(text), text))
            else:
                placed.append((self._current(citing), context))
        self._take_contexts(placed)
        self._write()
        return sum(row.new and row.united is None for row in self._rows.values() if row.num >= self._first_new)

    # -- finding what is there already ------------------------------------------------------------------------------

    def _look_up(self, papers: Sequence[Paper], contexts: Sequence[Context]) -> None:
        keys: set[str] = {key for context in contexts for key in implied(context.citing)}
        titles: set[int] = set()
        references = [r for paper in papers for r in paper.references]
        references += [r for paper in papers for context in paper.contexts for r in context.cited]
        references += [r for context in contexts for r in context.cited]
        for paper in papers:
            keys.update(paper_keys(paper))
            keys.add(f"id={paper.id}")
            if (title := title_key(paper.title)) is not None:
                titles.add(title)
        for reference in references:
            ids, title = self._reference_keys[id(reference)] = reference_ids(reference), reference_title(reference)
            keys.update(ids)
            if title is not None:
                titles.add(title)
        self._know(keys, titles)

    def _know(self, keys: Iterable[str], titles: set[int]) -> None:
        """Look up which papers of the store have these identifiers and titles."""
        self._keys.update(self._select("SELECT key, paper FROM ids WHERE key IN", list(keys)))
        if unseen := titles - self._looked_up_titles:
            self._looked_up_titles |= unseen
            matches = self._select("SELECT title_key, num FROM papers WHERE title_key IN", list(unseen))
            names = {title_name(title): title for title in unseen}
            matches += [(names[key], num) for key, num in self._select("SELECT key, paper FROM ids WHERE key IN", list(names))]
            for title, num in matches:
                self._know_title(title, num)

    def _know_title(self, title: int, num: int) -> None:
        known = self._titles.setdefault(title, [])
        if num not in known:
            known.append(num)

    def _select(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """All rows of a query that ends in ``IN``, for these values."""
        return self._db.execute(f"{query} (SELECT value FROM json_each(?))", (_json(values),)).fetchall() if values else []

    def _row(self, num: int) -> Row:
        """The paper of this number in this batch, or the paper that it was merged into."""
        row = self._rows.get(num)
        if row is None:
            row = self._rows[num] = rows.load(self._db, num)
        return row.current()

    def _current(self, num: int) -> int:
        known = self._rows.get(num)
        return num if known is None else known.current().num

    # -- papers -----------------------------------------------------------------------------------------------------

    def _settle(self, paper: Paper) -> Row:
        """The row of `paper`: a new one, an existing one, or several that it shows to be the same paper."""
        keys = paper_keys(paper)
        matches = sorted({self._row(self._keys[key]).num for key in keys if key in self._keys})
        title = title_key(paper.title)
        if not matches and title in self._titles and paper.year is not None:
            twin = self._twin(Signature({title}, {paper.year}, families(paper.authors)), None)
            matches = [twin.num] if twin is not None else []
        if not matches:
            row = self._create(paper, title, keys)
        else:
            row = self._row(matches[0])
            for other in matches[1:]:
                self._unite(row, self._row(other))
            if self._merge(row, paper, keys) or len(matches) > 1:
                row = self._gather(row)
        self._keep_sentences(row, paper.sentences)
        return row

    def _twin(self, known_by: Signature, itself: int | None) -> Row | None:
        """A paper other than `itself` that is the same work."""
        if known_by.years and known_by.families:
            for title in known_by.titles:
                for num in self._titles.get(title, ()):
                    row = self._row(num)
                    if row.num != itself and same_work(row.signature(), known_by):
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
        """The id that users see: the record's own if it is free, else the best identifier."""
        best = min(keys, key=rows.scheme_rank)
        given = paper.id or (paper.extra.get("citekey", "") if best.startswith("record:") else "")
        if not given:
            return best
        if rows.follows_scheme(given):
            return given
        key = f"id={given}"
        if key in self._keys:
            return best
        self._keys[key] = self._new_keys[key] = num
        return given

    def _register(self, row: Row, keys: Iterable[str], paper: Paper) -> None:
        """Register the row under these identifiers, the record's title and its citation key."""
        for key in keys:
            self._keys[key] = self._new_keys[key] = row.num
        if citekey := paper.extra.get("citekey"):
            self._names.add((f"key={citekey}", row.num))
        title = row.title_key if paper.title == row.paper.title else title_key(paper.title)
        if title is not None:
            self._register_title(row, title)

    def _register_title(self, row: Row, title: int) -> None:
        self._know_title(title, row.num)
        if title != row.title_key:
            self._names.add((title_name(title), row.num))

    def _merge(self, row: Row, paper: Paper, keys: list[str]) -> bool:
        """Fill empty fields of the row from `paper`, and keep its differing values as alternatives.

        Returns whether the row may now be the same paper as another.
        """
        changes = rows.merge(row, paper, keys)
        if not changes:
            return False
        row.changed = True
        if changes & {"title", "abstract", "year", "date", "authors"}:
            self._writes.dirty[row.num] |= OWN
        self._register(row, [key for key in keys if key not in self._keys], paper)
        return not changes.isdisjoint(_IDENTITY)

    def _gather(self, row: Row) -> Row:
        """Merge the row with every other that is now the same work; returns the merged row."""
        while True:
            known_by = row.signature()
            self._know((), known_by.titles)
            twin = self._twin(known_by, row.num)
            if twin is None:
                return row
            row, other = sorted((row, twin), key=lambda each: each.num)
            self._unite(row, other)

    def _unite(self, row: Row, other: Row) -> None:
        """Merge two papers that are the same: everything of `other`, the newer one, moves to `row`."""
        rows.absorb(row, other)
        row.changed = True
        other.united = row
        for title in other.titles():
            self._register_title(row, title)
        for num in (row.num, other.num):
            self._writes.dirty[num] |= EVERYTHING
        sentences = self._writes.sentences.pop(other.num, [])
        if not other.new:
            stored = self._db.execute("SELECT text, section FROM sentences WHERE paper = ? ORDER BY position", (other.num,))
            sentences = [Sentence(*columns) for columns in stored] + sentences
            for num in rows.linked(self._db, "citing", other.num):
                self._writes.dirty[num] |= CITED_BY
            for num in rows.linked(self._db, "cited", other.num):
                self._writes.dirty[num] |= CITES
            for num in rows.move(self._db, other, row.num):
                self._writes.dirty[num] |= CITED
        self._keep_sentences(row, sentences)

    def _keep_sentences(self, row: Row, sentences: Sequence[Sentence]) -> None:
        """Append the sentences that the row does not have yet."""
        if sentences and row.sentences:
            stored = {text for (text,) in self._db.execute("SELECT text FROM sentences WHERE paper = ?", (row.num,))}
            stored.update(sentence.text for sentence in self._writes.sentences.get(row.num, ()))
            sentences = list({s.text: s for s in sentences if s.text not in stored}.values())
        if sentences:
            row.sentences += len(sentences)
            row.changed = True
            self._writes.dirty[row.num] |= OWN
            self._writes.sentences[row.num] = [*self._writes.sentences.get(row.num, ()), *sentences]

    # -- citations and contexts -------------------------------------------------------------------------------------

    def _cite(self, citing: int, reference: Reference) -> tuple[int | None, int]:
        """Record a citation; returns the cited paper (None if unresolved) and the hash of the reference."""
        ids, title = self._reference_keys[id(reference)]
        keys = waiting_keys(reference, ids, title)
        hashed = reference_hash(keys, reference.year)
        cited = self._resolve(citing, ids, title, reference.year)
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

    def _resolve(self, citing: int, keys: Iterable[str], title: int | None, year: int | None) -> int | None:
        """The paper with one of these identifiers, else with this title and about this year."""
        matches: list[int] = []
        for key in keys:
            if key in self._keys and (num := self._current(self._keys[key])) not in matches:
                matches.append(num)
        if title is not None and year is not None:
            for num in map(self._current, self._titles.get(title, ())):
                if num not in matches and same_years(self._row(num).years(), [year]):
                    matches.append(num)
        if len(matches) > 1:
            # If several match, keep the one that it resolved to first, so that adding it again changes nothing.
            query = "SELECT cited FROM citations WHERE citing = ? AND cited IN (SELECT value FROM json_each(?))"
            cited = {num for (num,) in self._db.execute(query, (citing, _json(matches)))} | {citing}
            matches.sort(key=lambda num: num not in cited and (citing, num) not in self._writes.citations)
        return matches[0] if matches else None

    def _take_contexts(self, placed: Sequence[tuple[int, Context]]) -> None:
        """Store new contexts, given with their citing papers, and what each of them cites."""
        keys = [rows.context_key(citing, context.id, context.text) for citing, context in placed]
        known = dict(self._select("SELECT key, num FROM contexts WHERE key IN", keys))
        targets = set(self._select("SELECT context, reference FROM targets WHERE context IN", list(known.values())))
        for key, (citing, context) in zip(keys, placed, strict=True):
            if key not in known:
                known[key], self._next_context = self._next_context, self._next_context + 1
                self._writes.contexts.append((known[key], key, citing, context.id, context.section, context.text))
                self._writes.dirty[citing] |= CITING
            num = known[key]
            for cited, hashed in [self._cite(citing, reference) for reference in context.cited]:
                if (num, hashed) in targets:
                    continue
                targets.add((num, hashed))
                self._writes.targets.append((num, hashed, citing, cited))
                if cited is not None:
                    self._writes.dirty[cited] |= CITED

    def _resolve_waiting(self) -> list[tuple[int, Context]]:
        """Resolve references to the papers of this batch; returns the stored contexts whose citing paper has arrived."""
        arrived = [key for key in self._new_keys if key in self._keys]
        touched = [row for row in self._rows.values() if row.united is None and (row.new or row.changed)]
        titles = {title_name(title): title for row in touched for title in row.titles()}
        waiting: dict[tuple[int, int], list[tuple[str, int | None]]] = defaultdict(list)
        for key, citing, reference, year in self._select(
            "SELECT key, citing, reference, year FROM waiting WHERE key IN", [*arrived, *titles]
        ):
            waiting[citing, reference].append((key, year))
        in_contexts = self._db.execute("SELECT 1 FROM targets WHERE cited IS NULL LIMIT 1").fetchone()
        for (citing, reference), keys in waiting.items():
            title = next((titles[key] for key, _ in keys if key in titles), None)
            cited = self._resolve(citing, [key for key, _ in keys], title, keys[0][1])
            if cited is None:
                continue
            self._writes.resolved.add((citing, reference))
            if cited != citing:
                self._writes.citations.add((citing, cited))
            if (
                in_contexts
                and self._db.execute(
                    "UPDATE targets SET cited = ? WHERE citing = ? AND reference = ? AND cited IS NULL",
                    (cited, citing, reference),
                ).rowcount
            ):
                self._writes.dirty[cited] |= CITED
        parked = self._select("SELECT key, hash, context FROM parked WHERE key IN", arrived)
        contexts = [(key, msgspec.json.decode(text, type=Context)) for key, _, text in parked]
        self._look_up([], [context for _, context in contexts])
        self._db.executemany("DELETE FROM parked WHERE key = ? AND hash = ?", [row[:2] for row in parked])
        return [(self._current(self._keys[key]), context) for key, context in contexts]

    # -- writing ----------------------------------------------------------------------------------------------------

    def _new_citations(self) -> set[tuple[int, int]]:
        """The citations of the batch that are new; known ones need not be indexed again."""
        old = {citing for citing, _ in self._writes.citations if citing < self._first_new}
        return self._writes.citations - set(self._select("SELECT citing, cited FROM citations WHERE citing IN", sorted(old)))

    def _write(self) -> None:
        db, writes = self._db, self._writes
        live = [row for row in self._rows.values() if row.united is None]
        db.executemany("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (row.values() for row in live if row.new))
        db.executemany(
            "UPDATE papers SET id = ?, title = ?, abstract = ?, year = ?, date = ?, venue = ?, title_key = ?,"
            " details = ?, cuts = ? WHERE num = ?",
            ((*values[1:], values[0]) for values in (row.values() for row in live if row.changed and not row.new)),
        )
        db.executemany(
            "INSERT OR IGNORE INTO ids VALUES (?, ?)",
            ((key, self._current(num)) for names in (self._new_keys.items(), self._names) for key, num in names),
        )
        db.executemany(
            "INSERT OR IGNORE INTO sentences VALUES (?, ?, ?, ?)",
            (
                (num, at, s.section, s.text)
                for num, sentences in writes.sentences.items()
                for at, s in enumerate(sentences, self._rows[num].sentences - len(sentences))
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
        rows.mark_dirty(db, writes.dirty)
        db.executemany(
            "UPDATE meta SET value = ? WHERE name = ?", [(self._next_paper, "next_paper"), (self._next_context, "next_context")]
        )
