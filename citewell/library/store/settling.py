"""Which paper a record is about: a new one, a known one, or several that it shows to be the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.library.store import rows
from citewell.library.store.batch import CITED, EVERYTHING, OWN, Batch
from citewell.library.store.identity import GROUP, Signature, conflict, group_key, paper_keys, same_work, title_key
from citewell.library.store.ledger import Ledger
from citewell.library.store.rows import Row
from citewell.library.store.statements import Statement
from citewell.papers import Paper, Sentence
from citewell.text.author_terms import families

_IDENTITY = {"title", "authors", "year", "also title", "also authors", "also year"}
"""Changes after which a paper may turn out to be the same as another."""


class Settling:
    """Finds or makes the row of each record of a batch."""

    def __init__(self, batch: Batch, ledger: Ledger, reuse: Row | None = None) -> None:
        self._batch = batch
        self._ledger = ledger
        self.reuse = reuse
        """A paper whose number the first new paper gets."""

    def settle(self, paper: Paper, statement: Statement | None) -> Row:
        """The row of `paper`: a new one, an existing one, or several that it shows to be the same paper."""
        keys = paper_keys(paper)
        title = title_key(paper.title)
        if statement is not None and statement.grouped:
            keys.insert(0, group_key(statement.grouped))
            self._batch.know(keys[:1], set())
            matches = [self._batch.row(self._batch.keys[keys[0]]).num] if keys[0] in self._batch.keys else []
        else:
            matches = self._matches(paper, keys, title)
        keys = [key for key in keys if key not in self._batch.keys or self._batch.current(self._batch.keys[key]) in matches]
        keys = keys or paper_keys(replace(paper, ids=[]))  # all are those of another work
        if not matches:
            row = self._create(paper, title, keys)
            self._ledger.state(row, statement, paper)
        else:
            row = self._batch.row(matches[0])
            for other in matches[1:]:
                self.unite(row, self._batch.row(other))
            self._ledger.load(row, needed=statement is not None)
            self._ledger.state(row, statement, paper)
            if self._merge(row, paper, keys) or len(matches) > 1:
                row = self._gather(row)
        self.keep_sentences(row, paper.sentences)
        return row

    def _matches(self, paper: Paper, keys: Sequence[str], title: int | None) -> list[int]:
        """The papers that a record is about, by its identifiers, else by title, author and year."""
        nums = sorted({self._batch.row(self._batch.keys[key]).num for key in keys if key in self._batch.keys})
        nums = [num for num in nums if not conflict(self._batch.row(num).paper, paper, by_identifier=True)]
        if len(nums) > 1 and any(_is_grouped(self._batch.row(num)) for num in nums):
            return nums[:1]  # the user has decided what belongs together
        if not nums and title in self._batch.titles and paper.year is not None:
            twin = self._twin(Signature({title}, {paper.year}, families(paper.authors)), paper, None)
            nums = [twin.num] if twin is not None else []
        return nums

    def _twin(self, known_by: Signature, paper: Paper, itself: int | None) -> Row | None:
        """A paper other than `itself` that is the same work as `paper`."""
        if known_by.years and known_by.families:
            for title in known_by.titles:
                for num in self._batch.titles.get(title, ()):
                    row = self._batch.row(num)
                    if row.num == itself or _is_grouped(row) or not same_work(row.signature(), known_by):
                        continue
                    if not conflict(row.paper, paper, by_identifier=False):
                        return row
        return None

    def _create(self, paper: Paper, title: int | None, keys: list[str]) -> Row:
        if self.reuse is not None:
            num, former, self.reuse = self.reuse.num, self.reuse, None
            row = Row(num, rows.bibliographic(paper), changed=True, title_key=title, sentences=former.sentences)
            self._ledger.forget(num)
        else:
            num, self._batch.next_paper = self._batch.next_paper, self._batch.next_paper + 1
            row = Row(num, rows.bibliographic(paper), new=True, title_key=title)
        self._batch.rows[num] = row
        row.paper.ids = keys
        row.paper.id = self._batch.name(row.num, paper, keys)
        self._batch.register(row, keys, paper)
        self._batch.writes.dirty[row.num] |= OWN
        return row

    def _merge(self, row: Row, paper: Paper, keys: list[str]) -> bool:
        """Fill empty fields of the row from `paper`, and keep its differing values as alternatives.

        Returns whether the row may now be the same paper as another.
        """
        changes = rows.merge(row, paper, keys)
        if not changes:
            return False
        row.changed = True
        if not changes.isdisjoint(rows.INDEXED):
            self._batch.writes.dirty[row.num] |= OWN
        self._batch.register(row, [key for key in keys if key not in self._batch.keys], paper)
        return not changes.isdisjoint(_IDENTITY)

    def _gather(self, row: Row) -> Row:
        """Merge the row with every other that is now the same work; returns the merged row."""
        while True:
            known_by = row.signature()
            self._batch.know((), known_by.titles)
            twin = None if _is_grouped(row) else self._twin(known_by, row.paper, row.num)
            if twin is None:
                return row
            row, other = sorted((row, twin), key=lambda each: each.num)
            self.unite(row, other)

    def unite(self, row: Row, other: Row) -> None:
        """Merge two papers that are the same: everything of `other`, the newer one, moves to `row`."""
        self._ledger.unite(row, other)
        rows.absorb(row, other)
        row.changed = True
        other.united = row
        for title in other.titles():
            self._batch.register_title(row, title)
        for num in (row.num, other.num):
            self._batch.writes.dirty[num] |= EVERYTHING
        sentences = self._batch.writes.sentences.pop(other.num, [])
        if not other.new:
            stored = self._batch.db.execute(
                "SELECT text, section, paragraph FROM sentences WHERE paper = ? ORDER BY position", (other.num,)
            )
            sentences = [Sentence(*columns) for columns in stored] + sentences
            self._batch.mark_linked(other.num)
            for num in rows.move(self._batch.db, other, row.num):
                self._batch.writes.dirty[num] |= CITED
        self.keep_sentences(row, sentences)

    def keep_sentences(self, row: Row, sentences: Sequence[Sentence]) -> None:
        """Append the sentences that the row does not have yet."""
        if sentences and row.sentences:
            stored = {text for (text,) in self._batch.db.execute("SELECT text FROM sentences WHERE paper = ?", (row.num,))}
            stored.update(sentence.text for sentence in self._batch.writes.sentences.get(row.num, ()))
            sentences = list({s.text: s for s in sentences if s.text not in stored}.values())
        if sentences:
            row.sentences += len(sentences)
            row.changed = True
            self._batch.writes.dirty[row.num] |= OWN
            self._batch.writes.sentences[row.num] = [*self._batch.writes.sentences.get(row.num, ()), *sentences]


def _is_grouped(row: Row) -> bool:
    """Whether the user has decided what belongs to a paper."""
    return any(key.startswith(GROUP) for key in row.paper.ids)
