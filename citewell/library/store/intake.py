"""Storing a batch of records: identity, merging, citations (resolved or not), contexts.

A batch is processed in memory and written table by table: one query for all identifiers, one for all titles, one for the
unresolved references to them, then one ``executemany`` per table. The caller wraps a batch in a transaction.

Records of a named source are kept as statements. If the source changes or withdraws one, all statements about its paper are
settled again, as if they arrived for the first time.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from citewell.hashing import hash64
from citewell.identifiers import implied
from citewell.library.store import rows, statements
from citewell.library.store.identity import (
    GROUP,
    Signature,
    conflict,
    group_key,
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
from citewell.library.store.statements import Reading, Statement
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
    statements: list[Statement] = field(default_factory=list)
    dirty: dict[int, int] = field(default_factory=lambda: defaultdict(int))


class _Repeats:
    """Names the records of a source that have the same key: ``key``, ``key#2``, ``key#3`` ..."""

    def __init__(self, reading: Reading | None = None) -> None:
        self.reading = reading
        self._counts: dict[str, int] = {}

    def name(self, db: sqlite3.Connection, key: str) -> str:
        """The name of the next record with a key that this reading has had before."""
        assert self.reading is not None
        if key not in self._counts:
            self._counts[key] = max(1, statements.repeats(db, self.reading, key))
        self._counts[key] += 1
        return f"{key}#{self._counts[key]}"


class Intake:
    """Stores one batch after another."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.unmatched: list[tuple[Paper, Statement]] = []
        """Records set aside by `take`: they have no name of their own and may be edited versions of known ones."""
        self.changed = 0
        """How many known statements have been replaced by different ones."""
        self._repeats = _Repeats()
        self._begin()

    def _begin(self, reuse: Row | None = None) -> None:
        """Forget the previous batch."""
        meta = dict(self._db.execute("SELECT name, value FROM meta"))
        self._first_new = self._next_paper = meta["next_paper"]
        self._next_context = meta["next_context"]
        self._keys: dict[str, int] = {}
        self._titles: dict[int, list[int]] = {}
        self._looked_up_titles: set[int] = set()
        self._rows: dict[int, Row] = {}
        self._new_keys: dict[str, int] = {}
        self._names: set[tuple[str, int]] = set()
        self._reference_keys: dict[int, tuple[list[str], int | None]] = {}
        self._writes = _Writes()
        self._stored: dict[int, list[Statement]] = {}
        """The stored statements about the papers that others have joined, with their records."""
        self._stated: dict[int, list[Statement]] = {}
        """The statements of this batch, by paper."""
        self._seen: dict[int | None, Statement] = {}
        """Stored statements that the source still makes, by their number."""
        self._reuse = reuse
        """A paper whose number the first new paper gets."""

    def take(
        self,
        records: Sequence[Paper | Context],
        reading: Reading | None = None,
        positions: Sequence[int] = (),
        set_aside: bool = False,
    ) -> int:
        """Store a batch; returns how many of its papers are new.

        `reading`: the source that the records are from, with their `positions` in it. `set_aside`: leave records that have no
        name of their own, and that the source did not have before, in `unmatched`.
        """
        self._begin()
        papers = [record for record in records if isinstance(record, Paper)]
        contexts = [record for record in records if isinstance(record, Context)]
        made, known = self._statements(records, reading, positions)
        self._look_up(papers, contexts)
        settled: list[tuple[Row, Paper]] = []
        corrections: list[tuple[Statement, Statement, Paper]] = []
        for paper in papers:
            statement = made.get(id(paper))
            prior = known.get(statement.key) if statement else None
            if statement is None or prior is None:
                if statement is not None and set_aside and not statements.has_name(paper):
                    self.unmatched.append((paper, statement))
                    continue
                settled.append((self._settle(paper, statement), paper))
            elif prior.digest != statement.digest:
                corrections.append((prior, statement, paper))
            else:
                settled.append((self._seen_again(prior, statement, paper), paper))
        self._finish(settled, contexts)
        new = sum(row.new and row.united is None for row in self._rows.values() if row.num >= self._first_new)
        for prior, statement, paper in corrections:
            self.correct(prior, statement, paper)
        return new

    def correct(self, prior: Statement, statement: Statement, paper: Paper) -> None:
        """Replace what a source said by what it says now; `paper` is the new record."""
        prior = statements.current(self._db, prior)
        row, group = self._dissolve(prior)
        statement.paper, statement.grouped = prior.paper, prior.grouped
        kept = [(_record(each), each) for each in group if each.num != prior.num]
        self._settle_again(row, sorted([*kept, (paper, statement)], key=lambda pair: pair[1].priority))
        self.changed += 1

    def withdraw(self, statement: Statement) -> bool:
        """Take out what a source no longer says; False if nobody else says anything of the paper, which is then unchanged."""
        statement = statements.current(self._db, statement)
        if len(statements.about(self._db, statement.paper)) == 1:
            return False
        row, group = self._dissolve(statement)
        self._settle_again(row, [(_record(each), each) for each in group if each.num != statement.num])
        return True

    def join(self, nums: Sequence[int], group: str) -> None:
        """Make one paper of several because the user says so, now and whenever their records are read again."""
        self._begin()
        row, *others = [self._row(num) for num in sorted(set(nums))]
        for each in (row, *others):
            self._load_statements(each, needed=True)
        for other in others:
            self._unite(row, other)
        for statement in self._stored[row.num]:
            statement.grouped = group
        self._keys[group_key(group)] = self._new_keys[group_key(group)] = row.num
        self._finish([], [])

    def separate(self, statement: Statement, group: str) -> None:
        """Make a paper of its own of one statement, now and whenever its record is read again."""
        row, all_statements = self._dissolve(statement)
        rest = [each for each in all_statements if each.num != statement.num]
        apart = next(each for each in all_statements if each.num == statement.num)
        apart.grouped = group
        self._settle_again(row, [(_record(each), each) for each in (*rest, apart)])

    def _dissolve(self, statement: Statement) -> tuple[Row, list[Statement]]:
        """Take a paper out of identification; returns its row and the statements about it."""
        row = rows.load(self._db, statement.paper)
        group = statements.about(self._db, statement.paper)
        for each in group:
            each.record = each.record or statements.encode(row)
        self._db.executemany("DELETE FROM ids WHERE key = ? AND paper = ?", [(key, row.num) for key in rows.names(row)])
        self._db.execute("UPDATE papers SET title_key = NULL WHERE num = ?", (row.num,))
        statements.delete(self._db, group)
        return row, group

    def _settle_again(self, row: Row, group: Sequence[tuple[Paper, Statement]]) -> None:
        """Settle all statements about a dissolved paper; its number, citations and contexts go to the first of them."""
        self._begin(reuse=row)
        self._look_up([paper for paper, _ in group], [])
        settled = []
        for paper, statement in group:
            statement.num = None
            settled.append((self._settle(paper, statement), paper))
        if self._reuse is not None:  # they all belong to other papers
            heir = settled[0][0].current()
            self._mark_linked(row.num)
            for num in rows.move(self._db, row, heir.num):
                self._writes.dirty[num] |= CITED
            for num in (row.num, heir.num):
                self._writes.dirty[num] |= EVERYTHING
        self._finish(settled, [])

    def _finish(self, settled: Sequence[tuple[Row, Paper]], contexts: Sequence[Context]) -> None:
        """Take the citations and contexts of a batch whose papers are settled, and write everything."""
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

    # -- statements -------------------------------------------------------------------------------------------------

    def _statements(
        self, records: Sequence[Paper | Context], reading: Reading | None, positions: Sequence[int]
    ) -> tuple[dict[int, Statement], dict[str, Statement]]:
        """The statement of each record, by its `id()`, and what the source said before under the same keys."""
        if reading is None:
            return {}, {}
        made = {
            id(record): statements.state(record, reading, position)
            for record, position in zip(records, positions, strict=True)
            if isinstance(record, Paper)
        }
        if self._repeats.reading != reading:
            self._repeats = _Repeats(reading)
        known = statements.named(self._db, reading.source, [each.key for each in made.values()])
        used: set[str] = set()
        repeated = []
        for each in made.values():
            if each.key in used or (each.key in known and known[each.key].reading == reading.number):
                each.key = self._repeats.name(self._db, each.key)
                repeated.append(each.key)
            used.add(each.key)
        return made, known | statements.named(self._db, reading.source, repeated)

    def _seen_again(self, prior: Statement, statement: Statement, paper: Paper) -> Row:
        """Note that a source still says the same."""
        row = self._row(prior.paper)
        statement.num, statement.record, statement.paper = prior.num, prior.record, row.num
        statement.grouped = prior.grouped
        self._seen[prior.num] = statement
        self._keep_sentences(row, paper.sentences)
        return row

    def _state(self, row: Row, statement: Statement | None, paper: Paper) -> None:
        """Record that a statement is about the paper of a row."""
        if statement is None:
            if not self._stored.get(row.num) and not self._stated.get(row.num):
                return
            nobody = Reading(statements.UNKNOWN, own=False, number=0)
            statement = statements.state(paper, nobody, row.num)
            statement.key = f"{row.num}:{statement.digest:x}"
        self._stated.setdefault(row.num, []).append(statement)

    def _load_statements(self, row: Row, needed: bool) -> None:
        """Load the statements about a stored paper before another record joins it.

        Where there are none and they are `needed`, what the row has becomes one, so that it is not lost.
        """
        if row.num in self._stored or (row.new and not needed):
            return
        stored = [] if row.new else statements.about(self._db, row.num)
        for each in stored:
            each.record = each.record or statements.encode(row)
        if not stored and needed and not self._stated.get(row.num):
            stored = [Statement(statements.UNKNOWN, False, str(row.num), row.num, row.num, 0, 0, statements.encode(row))]
        self._stored[row.num] = stored

    def _rebuild(self, row: Row, group: Sequence[Statement]) -> None:
        """Put a row together from the statements about it."""
        old, former = row.paper, [row.paper.id, *row.also.get("id", ())]
        first, *others = sorted(group, key=lambda each: each.priority)
        base = statements.decode(first.record)
        row.paper, row.also, row.changed = base.paper, base.also, True
        groups = [group_key(each.grouped) for each in group if each.grouped]
        row.paper.ids = [*dict.fromkeys(groups), *self._owned(row, row.paper)]
        row.paper.id = self._name(row.num, row.paper, row.paper.ids) if first.source != statements.UNKNOWN else old.id
        row.title_key = title_key(row.paper.title)
        for each in others:
            other = statements.decode(each.record)
            other.paper.ids = self._owned(row, other.paper)
            if each.source == statements.UNKNOWN:
                rows.absorb(row, other)
            else:
                rows.merge(row, other.paper, other.paper.ids)
        for name in former:
            rows.note(row, "id", row.paper.id, name)
        for title in row.titles():
            self._register_title(row, title)
        new = row.paper
        if (old.title, old.abstract, old.year, old.date, old.authors) != (
            new.title,
            new.abstract,
            new.year,
            new.date,
            new.authors,
        ):
            self._writes.dirty[row.num] |= OWN

    def _owned(self, row: Row, paper: Paper) -> list[str]:
        """The identifiers of a record that belong to its row; others are those of a work that it was mistaken for."""
        keys = paper_keys(paper)
        self._know([key for key in keys if key not in self._keys], set())
        owned = [key for key in keys if key not in self._keys or self._current(self._keys[key]) == row.num]
        return owned or paper_keys(replace(paper, ids=[]))

    def _write_statements(self) -> None:
        for row in [row for row in self._rows.values() if row.united is None]:
            stored, stated = self._stored.get(row.num, []), self._stated.get(row.num, [])
            for each in (*stored, *stated):
                each.paper = row.num
                if (seen := self._seen.pop(each.num, None)) is not None:
                    each.reading, each.position, each.text, each.lead = seen.reading, seen.position, seen.text, seen.lead
            if len(stored) + len(stated) > 1:
                self._rebuild(row, [*stored, *stated])
            elif stated:
                stated[0].record = ""
            self._writes.statements += [*stored, *stated]
        for each in self._seen.values():
            each.paper = self._current(each.paper)
            self._writes.statements.append(each)

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

    def _settle(self, paper: Paper, statement: Statement | None) -> Row:
        """The row of `paper`: a new one, an existing one, or several that it shows to be the same paper."""
        keys = paper_keys(paper)
        title = title_key(paper.title)
        if statement is not None and statement.grouped:
            keys.insert(0, group_key(statement.grouped))
            self._know(keys[:1], set())
            matches = [self._row(self._keys[keys[0]]).num] if keys[0] in self._keys else []
        else:
            matches = self._matches(paper, keys, title)
        keys = [key for key in keys if key not in self._keys or self._current(self._keys[key]) in matches]
        keys = keys or paper_keys(replace(paper, ids=[]))  # all are those of another work
        if not matches:
            row = self._create(paper, title, keys)
            self._state(row, statement, paper)
        else:
            row = self._row(matches[0])
            for other in matches[1:]:
                self._unite(row, self._row(other))
            self._load_statements(row, needed=statement is not None)
            self._state(row, statement, paper)
            if self._merge(row, paper, keys) or len(matches) > 1:
                row = self._gather(row)
        self._keep_sentences(row, paper.sentences)
        return row

    def _matches(self, paper: Paper, keys: Sequence[str], title: int | None) -> list[int]:
        """The papers that a record is about, by its identifiers, else by title, author and year."""
        nums = sorted({self._row(self._keys[key]).num for key in keys if key in self._keys})
        nums = [num for num in nums if not conflict(self._row(num).paper, paper, by_identifier=True)]
        if len(nums) > 1 and any(_is_grouped(self._row(num)) for num in nums):
            return nums[:1]  # the user has decided what belongs together
        if not nums and title in self._titles and paper.year is not None:
            twin = self._twin(Signature({title}, {paper.year}, families(paper.authors)), paper, None)
            nums = [twin.num] if twin is not None else []
        return nums

    def _twin(self, known_by: Signature, paper: Paper, itself: int | None) -> Row | None:
        """A paper other than `itself` that is the same work as `paper`."""
        if known_by.years and known_by.families:
            for title in known_by.titles:
                for num in self._titles.get(title, ()):
                    row = self._row(num)
                    if row.num == itself or _is_grouped(row) or not same_work(row.signature(), known_by):
                        continue
                    if not conflict(row.paper, paper, by_identifier=False):
                        return row
        return None

    def _create(self, paper: Paper, title: int | None, keys: list[str]) -> Row:
        if self._reuse is not None:
            num, former, self._reuse = self._reuse.num, self._reuse, None
            row = Row(num, rows.bibliographic(paper), changed=True, title_key=title, sentences=former.sentences)
            self._stored[num] = []
        else:
            num, self._next_paper = self._next_paper, self._next_paper + 1
            row = Row(num, rows.bibliographic(paper), new=True, title_key=title)
        self._rows[num] = row
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
        if self._keys.get(key, num) != num:
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
            twin = None if _is_grouped(row) else self._twin(known_by, row.paper, row.num)
            if twin is None:
                return row
            row, other = sorted((row, twin), key=lambda each: each.num)
            self._unite(row, other)

    def _unite(self, row: Row, other: Row) -> None:
        """Merge two papers that are the same: everything of `other`, the newer one, moves to `row`."""
        for each in (row, other):
            self._load_statements(each, needed=False)
        if any(self._stored.get(each.num) or self._stated.get(each.num) for each in (row, other)):
            for each in (row, other):
                if not self._stored.get(each.num) and not self._stated.get(each.num):
                    self._stored.pop(each.num, None)
                    self._load_statements(each, needed=True)
        for joined in (self._stored, self._stated):
            if moved := joined.pop(other.num, []):
                joined[row.num] = [*joined.get(row.num, []), *moved]
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
            self._mark_linked(other.num)
            for num in rows.move(self._db, other, row.num):
                self._writes.dirty[num] |= CITED
        self._keep_sentences(row, sentences)

    def _mark_linked(self, num: int) -> None:
        """Index the links of the papers that a paper is linked with again."""
        for citing in rows.linked(self._db, "citing", num):
            self._writes.dirty[citing] |= CITED_BY
        for cited in rows.linked(self._db, "cited", num):
            self._writes.dirty[cited] |= CITES

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
        self._write_statements()
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
        statements.write(db, writes.statements)
        rows.mark_dirty(db, writes.dirty)
        db.executemany(
            "UPDATE meta SET value = ? WHERE name = ?", [(self._next_paper, "next_paper"), (self._next_context, "next_context")]
        )


def _record(statement: Statement) -> Paper:
    return statements.decode(statement.record).paper


def _is_grouped(row: Row) -> bool:
    """Whether the user has decided what belongs to a paper."""
    return any(key.startswith(GROUP) for key in row.paper.ids)
