"""The statements of one batch, and how the row of a paper is put together from the statements about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.library.store import rows, statements
from citewell.library.store.batch import OWN, Batch
from citewell.library.store.identity import group_key, is_supplement, paper_keys, title_key
from citewell.library.store.rows import Row
from citewell.library.store.statements import Reading, Statement
from citewell.papers import Paper


class Ledger:
    """Who says what about the papers of a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._stored: dict[int, list[Statement]] = {}
        """The stored statements about the papers that others have joined, with their records."""
        self._stated: dict[int, list[Statement]] = {}
        """The statements of this batch, by paper."""
        self._seen: dict[int | None, Statement] = {}
        """Stored statements that the source still makes, by their number."""

    def state(self, row: Row, statement: Statement | None, paper: Paper) -> None:
        """Record that a statement is about the paper of a row. One without a source counts only next to others."""
        if statement is None:
            if not self._of(row):
                return
            nobody = Reading(statements.UNKNOWN, own=False, number=0)
            statement = statements.state(paper, nobody, row.num)
            statement.key = f"{row.num}:{statement.digest:x}"
        self._stated.setdefault(row.num, []).append(statement)

    def seen_again(self, prior: Statement, statement: Statement) -> Row:
        """Note that a source still says the same; returns the row that it is about."""
        row = self._batch.row(prior.paper)
        if prior.gone:  # it counts again
            self.load(row, needed=True)
        statement.num, statement.record, statement.paper = prior.num, prior.record, row.num
        statement.grouped = prior.grouped
        self._seen[prior.num] = statement
        return row

    def group(self, row: Row, group: str) -> None:
        """Put all stored statements about a paper into one group."""
        for statement in self._stored[row.num]:
            statement.grouped = group

    def forget(self, num: int) -> None:
        """Treat a paper as one that nothing is stored about."""
        self._stored[num] = []

    def load(self, row: Row, needed: bool) -> None:
        """Load the statements about a stored paper before another record joins it.

        Where there are none and they are `needed`, what the row has becomes one, so that it is not lost.
        """
        if row.num not in self._stored and not row.new:
            self._stored[row.num] = statements.about(self._batch.db, row.num)
            for each in self._stored[row.num]:
                each.record = each.record or statements.encode(row)
        if needed and not self._of(row):
            record = statements.encode(row)
            self._stored[row.num] = [Statement(statements.UNKNOWN, False, str(row.num), row.num, row.num, 0, 0, record)]

    def unite(self, row: Row, other: Row) -> None:
        """Move the statements about a paper to another; if only one of them has any, what the other row has becomes one."""
        for each in (row, other):
            self.load(each, needed=False)
        if self._of(row) or self._of(other):
            for each in (row, other):
                self.load(each, needed=True)
        for joined in (self._stored, self._stated):
            if moved := joined.pop(other.num, []):
                joined[row.num] = [*joined.get(row.num, []), *moved]

    def write(self) -> None:
        """Put the rows together, and add the statements to what the batch writes."""
        for row in [row for row in self._batch.rows.values() if row.united is None]:
            group = self._of(row)
            for each in group:
                each.paper = row.num
                if (seen := self._seen.pop(each.num, None)) is not None:
                    each.reading, each.position, each.text, each.lead = seen.reading, seen.position, seen.text, seen.lead
                    each.gone = False
            if len(group) > 1:
                self._rebuild(row, group)
            elif self._stated.get(row.num):
                group[0].record = ""
            self._batch.writes.statements += group
        for each in self._seen.values():
            each.paper = self._batch.current(each.paper)
            self._batch.writes.statements.append(each)

    def _of(self, row: Row) -> list[Statement]:
        """The loaded and new statements about a paper."""
        return [*self._stored.get(row.num, ()), *self._stated.get(row.num, ())]

    def _rebuild(self, row: Row, group: Sequence[Statement]) -> None:
        """Put a row together from the statements about it."""
        old, former = row.paper, [row.paper.id, *row.also.get("id", ())]
        first, *others = sorted(group, key=lambda each: (each.supplement, each.priority))
        base = statements.decode(first.record)
        row.paper, row.also, row.changed = base.paper, base.also, True
        groups = [group_key(each.grouped) for each in group if each.grouped]
        row.paper.ids = [*dict.fromkeys(groups), *self._owned(row, row.paper)]
        row.paper.id = self._batch.name(row.num, row.paper, row.paper.ids) if first.source != statements.UNKNOWN else old.id
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
            self._batch.register_title(row, title)
        if any(getattr(old, name) != getattr(row.paper, name) for name in rows.INDEXED):
            self._batch.writes.dirty[row.num] |= OWN

    def _owned(self, row: Row, paper: Paper) -> list[str]:
        """The identifiers of a record that belong to its row; others are those of a work that it was mistaken for."""
        if is_supplement(paper):
            return []
        keys = paper_keys(paper)
        self._batch.know([key for key in keys if key not in self._batch.keys], set())
        owned = [key for key in keys if key not in self._batch.keys or self._batch.current(self._batch.keys[key]) == row.num]
        return owned or paper_keys(replace(paper, ids=[]))
