"""The references of a batch: citations, resolved or not, and the contexts in which they stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from citewell.hashing import hash64
from citewell.identifiers import implied
from citewell.library.store import rows
from citewell.library.store.batch import CITED, CITING, Batch, as_json
from citewell.library.store.identity import (
    paper_keys,
    reference_hash,
    reference_ids,
    reference_title,
    same_years,
    title_key,
    title_name,
    waiting_keys,
)
from citewell.library.store.rows import Row
from citewell.papers import Context, Paper, Reference


class References:
    """Resolves the references of the records of a batch, and those that waited for its papers."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._reference_keys: dict[int, tuple[list[str], int | None]] = {}

    def look_up(self, papers: Sequence[Paper], contexts: Sequence[Context]) -> None:
        """Look up everything that these records mention, with one query for identifiers and one for titles."""
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
        self._batch.know(keys, titles)

    def take(self, settled: Sequence[tuple[Row, Paper]], contexts: Sequence[Context]) -> None:
        """Take the citations and contexts of a batch whose papers are settled."""
        placed = self._resolve_waiting()
        for row, paper in settled:
            num = row.current().num
            for reference in paper.references:
                self._cite(num, reference)
            placed += [(num, context) for context in paper.contexts]
        for context in contexts:
            keys = implied(context.citing)
            citing = next((self._batch.keys[key] for key in keys if key in self._batch.keys), None)
            if citing is None:
                text = as_json(context)
                self._batch.writes.parked.append((keys[-1], hash64(text), text))
            else:
                placed.append((self._batch.current(citing), context))
        self._take_contexts(placed)

    def _cite(self, citing: int, reference: Reference) -> tuple[int | None, int]:
        """Record a citation; returns the cited paper (None if unresolved) and the hash of the reference."""
        ids, title = self._reference_keys[id(reference)]
        keys = waiting_keys(reference, ids, title)
        hashed = reference_hash(keys, reference.year)
        cited = self._resolve(citing, ids, title, reference.year)
        if cited is not None:
            if citing < self._batch.first_new:
                self._batch.writes.resolved.add((citing, hashed))
            if cited != citing:
                self._batch.writes.citations.add((citing, cited))
        else:
            details = as_json(reference)
            for key in keys:
                self._batch.writes.waiting.setdefault(
                    (key, citing, hashed), (reference.year, details if key is keys[0] else "")
                )
        return cited, hashed

    def _resolve(self, citing: int, keys: Iterable[str], title: int | None, year: int | None) -> int | None:
        """The paper with one of these identifiers, else with this title and about this year."""
        matches: list[int] = []
        for key in keys:
            if key in self._batch.keys and (num := self._batch.current(self._batch.keys[key])) not in matches:
                matches.append(num)
        if title is not None and year is not None:
            for num in map(self._batch.current, self._batch.titles.get(title, ())):
                if num not in matches and same_years(self._batch.row(num).years(), [year]):
                    matches.append(num)
        if len(matches) > 1:
            # If several match, keep the one that it resolved to first, so that adding it again changes nothing.
            query = "SELECT cited FROM citations WHERE citing = ? AND cited IN (SELECT value FROM json_each(?))"
            cited = {num for (num,) in self._batch.db.execute(query, (citing, as_json(matches)))} | {citing}
            matches.sort(key=lambda num: num not in cited and (citing, num) not in self._batch.writes.citations)
        return matches[0] if matches else None

    def _take_contexts(self, placed: Sequence[tuple[int, Context]]) -> None:
        """Store new contexts, given with their citing papers, and what each of them cites."""
        keys = [rows.context_key(citing, context.id, context.text) for citing, context in placed]
        known = dict(self._batch.select("SELECT key, num FROM contexts WHERE key IN", keys))
        targets = set(self._batch.select("SELECT context, reference FROM targets WHERE context IN", list(known.values())))
        for key, (citing, context) in zip(keys, placed, strict=True):
            if key not in known:
                known[key], self._batch.next_context = self._batch.next_context, self._batch.next_context + 1
                self._batch.writes.contexts.append((known[key], key, citing, context.id, context.section, context.text))
                self._batch.writes.dirty[citing] |= CITING
            num = known[key]
            for cited, hashed in [self._cite(citing, reference) for reference in context.cited]:
                if (num, hashed) in targets:
                    continue
                targets.add((num, hashed))
                self._batch.writes.targets.append((num, hashed, citing, cited))
                if cited is not None:
                    self._batch.writes.dirty[cited] |= CITED

    def _resolve_waiting(self) -> list[tuple[int, Context]]:
        """Resolve references to the papers of this batch; returns the stored contexts whose citing paper has arrived."""
        arrived = [key for key in self._batch.new_keys if key in self._batch.keys]
        touched = [row for row in self._batch.rows.values() if row.united is None and (row.new or row.changed)]
        titles = {title_name(title): title for row in touched for title in row.titles()}
        waiting: dict[tuple[int, int], list[tuple[str, int | None]]] = defaultdict(list)
        for key, citing, reference, year in self._batch.select(
            "SELECT key, citing, reference, year FROM waiting WHERE key IN", [*arrived, *titles]
        ):
            waiting[citing, reference].append((key, year))
        in_contexts = self._batch.db.execute("SELECT 1 FROM targets WHERE cited IS NULL LIMIT 1").fetchone()
        for (citing, reference), keys in waiting.items():
            title = next((titles[key] for key, _ in keys if key in titles), None)
            cited = self._resolve(citing, [key for key, _ in keys], title, keys[0][1])
            if cited is None:
                continue
            self._batch.writes.resolved.add((citing, reference))
            if cited != citing:
                self._batch.writes.citations.add((citing, cited))
            if (
                in_contexts
                and self._batch.db.execute(
                    "UPDATE targets SET cited = ? WHERE citing = ? AND reference = ? AND cited IS NULL",
                    (cited, citing, reference),
                ).rowcount
            ):
                self._batch.writes.dirty[cited] |= CITED
        parked = self._batch.select("SELECT key, hash, context FROM parked WHERE key IN", arrived)
        contexts = [(key, msgspec.json.decode(text, type=Context)) for key, _, text in parked]
        self.look_up([], [context for _, context in contexts])
        self._batch.db.executemany("DELETE FROM parked WHERE key = ? AND hash = ?", [row[:2] for row in parked])
        return [(self._batch.current(self._batch.keys[key]), context) for key, context in contexts]
