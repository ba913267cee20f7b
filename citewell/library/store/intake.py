"""Storing records: a batch is processed in memory and then written. The caller wraps it in a transaction.

`Settling` finds the paper of each record, `Ledger` keeps who says what, `References` resolves citations, and `Batch` knows the
store. Records of a named source are kept as statements. If the source changes or withdraws one, all statements about its paper
are settled again, as if they arrived for the first time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from citewell.library.store import given, removal, rows, statements
from citewell.library.store.batch import CITED, EVERYTHING, Batch
from citewell.library.store.given import Given
from citewell.library.store.identity import group_key, is_supplement
from citewell.library.store.ledger import Ledger
from citewell.library.store.references import References
from citewell.library.store.rows import Row
from citewell.library.store.settling import Settling
from citewell.library.store.statements import Reading, Statement
from citewell.papers import Context, Paper


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


class _Work:
    """The parts that process one batch."""

    def __init__(self, db: sqlite3.Connection, reuse: Row | None = None) -> None:
        self.batch = Batch(db)
        self.ledger = Ledger(self.batch)
        self.settling = Settling(self.batch, self.ledger, reuse)
        self.references = References(self.batch)

    def finish(self, settled: Sequence[tuple[Row, Paper]], contexts: Sequence[Context] = ()) -> None:
        """Take the citations and contexts of a batch whose papers are settled, and write everything."""
        self.references.take(settled, contexts)
        self.ledger.write()
        self.batch.write()


class Intake:
    """Stores one batch after another."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.unmatched: list[tuple[Paper, Statement]] = []
        """Records set aside by `take`: they have no name of their own and may be edited versions of known ones."""
        self.changed = 0
        """How many known statements have been replaced by different ones."""
        self._repeats = _Repeats()

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
        papers = [record for record in records if isinstance(record, Paper)]
        contexts = [record for record in records if isinstance(record, Context)]
        made, known = self._statements(records, reading, positions)
        papers, supplements = self._without_supplements(papers, made, known)
        regiven = self._take_given(papers, made, known)
        work = _Work(self._db)
        work.references.look_up(papers, contexts)
        settled: list[tuple[Row, Paper]] = []
        corrections: list[tuple[Statement, Statement, Paper]] = []
        for paper in papers:
            statement = made.get(id(paper))
            prior = known.get(statement.key) if statement else None
            if statement is None or prior is None:
                if statement is not None and set_aside and not statements.has_name(paper):
                    self.unmatched.append((paper, statement))
                    continue
                settled.append((work.settling.settle(paper, statement), paper))
            elif prior.digest != statement.digest:
                corrections.append((prior, statement, paper))
            else:
                self.changed += id(paper) in regiven
                row = work.ledger.seen_again(prior, statement)
                work.settling.keep_sentences(row, paper.sentences)
                settled.append((row, paper))
        work.finish(settled, contexts)
        # These change the statements about other papers, so they come when nothing else refers to what was loaded.
        for prior, statement, paper in corrections:
            self.correct(prior, statement, paper)
        for former, statement in supplements:
            self._take_supplement(former, statement)
        return work.batch.new_papers

    def correct(self, prior: Statement, statement: Statement, paper: Paper) -> None:
        """Replace what a source said by what it says now; `paper` is the new record."""
        prior = statements.current(self._db, prior)
        if statement.key != prior.key:
            self._give(prior, given.NOTHING)
            given.store(self._db, {(statement.source, statement.key): given.of_record(paper)})
        if prior.paper == statements.NO_PAPER:  # a supplement that the correction of another record has detached
            statements.delete(self._db, [prior])
            self._settle_again(None, [(paper, statement)])
            self.changed += 1
            return
        row, group = self._dissolve(prior)
        statement.paper, statement.grouped = prior.paper, prior.grouped
        kept = [(_record(each), each) for each in group if each.num != prior.num]
        self._settle_again(row, sorted([*kept, (paper, statement)], key=lambda pair: pair[1].priority))
        self.changed += 1

    def withdraw(self, statement: Statement) -> None:
        """Take out what a source no longer says, with its paper if no other record describes it."""
        statement = statements.current(self._db, statement)
        if statement.paper == statements.NO_PAPER:
            statements.delete(self._db, [statement])
            return
        others = [each for each in statements.about(self._db, statement.paper) if each.num != statement.num]
        if all(each.supplement for each in others):
            self._detach(others)
            removal.remove(self._db, [statement.paper])
            return
        self._give(statement, given.NOTHING)
        row, group = self._dissolve(statement)
        self._settle_again(row, [(_record(each), each) for each in group if each.num != statement.num])

    def put_together(self, papers: Iterable[int]) -> None:
        """Put papers together again, because other statements about them come first now."""
        work = _Work(self._db)
        for num in papers:
            work.ledger.load(work.batch.row(num), needed=True)
        work.finish([])

    def join_supplements(self) -> list[Statement]:
        """Add each supplement to the paper that another file has under its key; returns those without one."""
        waiting = statements.about(self._db, statements.NO_PAPER)
        if not waiting:
            return []
        work = _Work(self._db)
        described = statements.described(self._db, {each.key for each in waiting})
        left = []
        for statement in waiting:
            if (named := described.get(statement.key)) is None:
                left.append(statement)
                continue
            row = work.batch.row(named.paper)
            work.ledger.load(row, needed=True)
            work.ledger.state(row, statement, _record(statement))
        work.finish([])
        return left

    def join(self, nums: Sequence[int], group: str) -> None:
        """Make one paper of several because the user says so, now and whenever their records are read again."""
        work = _Work(self._db)
        row, *others = [work.batch.row(num) for num in sorted(set(nums))]
        for each in (row, *others):
            work.ledger.load(each, needed=True)
        for other in others:
            work.settling.unite(row, other)
        work.ledger.group(row, group)
        work.batch.keys[group_key(group)] = work.batch.new_keys[group_key(group)] = row.num
        work.finish([])

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
        supplements = [each for each in group if each.num != statement.num and each.supplement]
        self._db.executemany("DELETE FROM ids WHERE key = ? AND paper = ?", [(key, row.num) for key in rows.names(row)])
        self._db.execute("UPDATE papers SET title_key = NULL WHERE num = ?", (row.num,))
        statements.delete(self._db, group)
        self._detach(supplements)
        return row, [each for each in group if each not in supplements]

    def _detach(self, supplements: Sequence[Statement]) -> None:
        """Let supplements wait for a record with their key."""
        for each in supplements:
            each.paper = statements.NO_PAPER
        statements.write(self._db, supplements)

    def _without_supplements(
        self, papers: Sequence[Paper], made: Mapping[int, Statement], known: dict[str, Statement]
    ) -> tuple[list[Paper], list[tuple[Statement | None, Statement]]]:
        """The records that describe a paper, and the supplements with what they said before; forgets what waited under the keys
        of the former."""
        described, supplements = [], []
        for paper in papers:
            statement = made.get(id(paper))
            prior = known.get(statement.key) if statement is not None else None
            if statement is not None and is_supplement(paper):
                supplements.append((prior, statement))
                continue
            described.append(paper)
            if prior is not None and prior.paper == statements.NO_PAPER:
                statements.delete(self._db, [known.pop(prior.key)])
        return described, supplements

    def _take_supplement(self, prior: Statement | None, statement: Statement) -> None:
        prior = statements.current(self._db, prior) if prior is not None else None
        if prior is not None and prior.digest == statement.digest:
            statement.num, statement.paper, statement.grouped = prior.num, prior.paper, prior.grouped
        elif prior is not None:
            self.withdraw(prior)
            self.changed += 1
        statements.write(self._db, [statement])
        if prior is not None and prior.gone and statement.paper != statements.NO_PAPER:
            self.put_together([statement.paper])  # it counts again

    def _settle_again(self, row: Row | None, group: Sequence[tuple[Paper, Statement]]) -> None:
        """Settle all statements about a dissolved paper; its number, citations and contexts go to the first of them."""
        work = _Work(self._db, reuse=row)
        work.references.look_up([paper for paper, _ in group], [])
        settled = []
        for paper, statement in group:
            statement.num = None
            settled.append((work.settling.settle(paper, statement), paper))
        if row is not None and work.settling.reuse is not None:  # they all belong to other papers
            heir = settled[0][0].current()
            work.batch.mark_linked(row.num)
            for num in rows.move(self._db, row, heir.num):
                work.batch.writes.dirty[num] |= CITED
            for num in (row.num, heir.num):
                work.batch.writes.dirty[num] |= EVERYTHING
        work.finish(settled)

    def _take_given(self, papers: Sequence[Paper], made: Mapping[int, Statement], known: Mapping[str, Statement]) -> set[int]:
        """Store what the records give besides fields, and withdraw what they no longer give; returns the `id()` of these."""
        before = given.load(self._db, known.values()) if known else {}
        changed: set[int] = set()
        gives: dict[tuple[int, str], Given] = {}
        for paper in papers:
            if (statement := made.get(id(paper))) is None:
                continue
            now = given.of_record(paper)
            prior = known.get(statement.key)
            if prior is None:
                if now != given.NOTHING:
                    gives[statement.source, statement.key] = now
            elif (former := before[prior.source, prior.key]) != now:
                given.withdraw(self._db, prior, former, now)
                gives[statement.source, statement.key] = now
                if former.known:
                    changed.add(id(paper))
        given.store(self._db, gives)
        return changed

    def _give(self, statement: Statement, now: Given) -> None:
        """Note that a record gives something else than before, and withdraw what it no longer gives."""
        (before,) = given.load(self._db, [statement]).values()
        given.withdraw(self._db, statement, before, now)
        given.store(self._db, {(statement.source, statement.key): now})

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


def _record(statement: Statement) -> Paper:
    return statements.decode(statement.record).paper
