"""The store: what the user added, in SQLite. Everything else is derived from it.

`Store` reads; `Intake` and `removal` write, inside transactions that the library opens.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.identifiers import recognise
from citewell.library.store import rows, schema
from citewell.library.store.identity import title_key
from citewell.papers import Context, Name, Paper, Reference, Sentence
from citewell.text.names import parse_all

_HAS_WORD = (
    "(title LIKE ? ESCAPE '\\' OR venue LIKE ? ESCAPE '\\' OR id LIKE ? ESCAPE '\\' OR"
    " (details LIKE ? ESCAPE '\\' AND json_extract(details, '$.authors') LIKE ? ESCAPE '\\'))"
)
"""Whether a word occurs in a paper's title, venue, id or authors; the details are parsed only if they contain it at all."""

_names = msgspec.json.Decoder(list[str | Name])


class Store:
    """Reads papers, citations, contexts and sentences."""

    def __init__(self, db: sqlite3.Connection, folder: Path) -> None:
        self.db = db
        self.folder = folder
        self._has_paragraphs = schema.has_paragraphs(db)

    @classmethod
    def open(cls, folder: Path) -> Store:
        return cls(schema.read(folder), folder)

    def close(self) -> None:
        self.db.close()

    # -- papers -----------------------------------------------------------------------------------------------------

    def find(self, name: str) -> int | None:
        """The number of a paper by any of its names: an identifier, a data set's id, a citation key."""
        if (named := self.named(name)) is not None:
            return named
        # The paper may have been merged under another name of a data set: rare enough to scan all ids.
        escaped = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        row = self.db.execute("SELECT paper FROM ids WHERE key LIKE ? ESCAPE '\\' LIMIT 1", (f"%:{escaped}",)).fetchone()
        return int(row[0]) if row else None

    def named(self, name: str) -> int | None:
        """As `find`, without the scan of all ids."""
        known = recognise(name)
        return self.identified(([known] if known else []) + [name, f"id={name}", f"local:{name}", f"key={name}"])

    def identified(self, keys: Iterable[str]) -> int | None:
        """The number of the paper with the first of these identifiers that exists."""
        for key in keys:
            row = self.db.execute("SELECT paper FROM ids WHERE key = ? ORDER BY paper", (key,)).fetchone()
            if row:
                return int(row[0])
        return None

    def titled(self, title: str) -> list[int]:
        """The numbers of the papers with this title, ignoring case, accents and punctuation."""
        selected = self.db.execute("SELECT num FROM papers WHERE title_key = ? ORDER BY num", (title_key(title),))
        return [num for (num,) in selected]

    def papers(self, nums: Sequence[int]) -> dict[int, Paper]:
        """Bibliographic records by number; numbers of papers that are gone are absent."""
        selected = self._select(f"SELECT {rows.COLUMNS} FROM papers WHERE num IN", nums)
        return {row[0]: rows.from_columns(row).paper for row in selected}

    def whole(self, num: int) -> Paper:
        """One paper with its references, contexts and sentences."""
        paper = rows.load(self.db, num).paper
        paper.references = [*self._references(num), *self._waiting(num)]
        paper.contexts = list(self._contexts(num))
        paper.sentences = self.sentences(num)
        return paper

    def each(self) -> Iterator[Paper]:
        """Every paper with references, contexts and sentences, in the order of addition."""
        last = 0
        while batch := self.db.execute("SELECT num FROM papers WHERE num > ? ORDER BY num LIMIT 1000", (last,)).fetchall():
            for (num,) in batch:
                yield self.whole(num)
            last = batch[-1][0]

    def quotable(self, nums: Sequence[int]) -> dict[int, list[Sentence]]:
        """The sentences that can be quoted from papers: those that their sources gave, else those of their abstracts."""
        sentences_of: dict[int, list[Sentence]] = {num: [] for num in nums}
        for num, text, section in self._select(
            "SELECT paper, text, section FROM sentences WHERE paper IN", nums, " ORDER BY paper, position"
        ):
            sentences_of[num].append(Sentence(text, section))
        others = [num for num, sentences in sentences_of.items() if not sentences]
        for num, abstract, ends in self._select("SELECT num, abstract, cuts FROM papers WHERE num IN", others):
            sentences_of[num] = rows.cut(abstract, ends)
        return sentences_of

    def sentences(self, num: int) -> list[Sentence]:
        """The sentences of a paper that its sources gave."""
        columns = "text, section, paragraph" if self._has_paragraphs else "text, section"
        selected = self.db.execute(f"SELECT {columns} FROM sentences WHERE paper = ? ORDER BY position", (num,))
        return [Sentence(*row) for row in selected]

    def venue(self, name: str) -> npt.NDArray[np.int64]:
        """The numbers of the papers whose venue contains `name`."""
        selected = self.db.execute(
            "SELECT num FROM papers WHERE venue <> '' AND venue COLLATE NOCASE LIKE ? ESCAPE '\\' ORDER BY num",
            (_containing(name),),
        )
        return np.fromiter((num for (num,) in selected), np.int64)

    def years(self) -> dict[int, int]:
        """The number of papers of each year, earliest first; papers without a year are not counted."""
        return dict(self.db.execute("SELECT year, count(*) FROM papers WHERE year IS NOT NULL GROUP BY year ORDER BY year"))

    def listed(
        self, words: Sequence[str], since: int | None, before: int | None, offset: int, limit: int
    ) -> tuple[list[int], int]:
        """Numbers of papers that have every word in their title, names, venue or id, newest first, and how many there are.

        It scans every paper: for browsing a library, not for searching it.
        """
        where = ["true"]
        values: list[object] = []
        for word in words:
            values += [_containing(word)] * _HAS_WORD.count("?")
            where.append(_HAS_WORD)
        for bound, sign in ((since, ">="), (before, "<")):
            if bound is not None:
                values.append(bound)
                where.append(f"year {sign} ?")
        chosen = f"FROM papers WHERE {' AND '.join(where)}"
        total = int(self.db.execute(f"SELECT count(*) {chosen}", values).fetchone()[0])
        page = self.db.execute(f"SELECT num {chosen} ORDER BY year DESC, num DESC LIMIT {limit} OFFSET {offset}", values)
        return [num for (num,) in page], total

    # -- citations --------------------------------------------------------------------------------------------------

    def times_cited(self, nums: Sequence[int]) -> dict[int, int]:
        return dict(self._select("SELECT cited, count(*) FROM citations WHERE cited IN", nums, " GROUP BY cited"))

    def cited_by(self, num: int) -> list[int]:
        """The papers of the library that cite this one."""
        return [citing for (citing,) in self.db.execute("SELECT citing FROM citations WHERE cited = ? ORDER BY citing", (num,))]

    def _references(self, num: int) -> Iterator[Reference]:
        for (name,) in self.db.execute(
            "SELECT id FROM citations JOIN papers ON num = cited WHERE citing = ? ORDER BY cited", (num,)
        ):
            yield Reference([name])

    def _waiting(self, num: int) -> Iterator[Reference]:
        for (text,) in self.db.execute("SELECT details FROM waiting WHERE citing = ? AND details <> '' ORDER BY key", (num,)):
            yield msgspec.json.decode(text, type=Reference)

    def _contexts(self, num: int) -> Iterator[Context]:
        stored = self.db.execute("SELECT num, id, section, text FROM contexts WHERE citing = ? ORDER BY num", (num,)).fetchall()
        for context, name, section, text in stored:
            cited = self.db.execute(
                "SELECT papers.id, waiting.details FROM targets LEFT JOIN papers ON papers.num = cited LEFT JOIN waiting"
                " ON waiting.citing = targets.citing AND waiting.reference = targets.reference AND waiting.details <> ''"
                " WHERE context = ?",
                (context,),
            )
            references = [
                Reference([paper]) if paper is not None else msgspec.json.decode(waits, type=Reference)
                for paper, waits in cited
                if paper is not None or waits is not None
            ]
            yield Context(text, references, section=section, id=name)

    # -- what is indexed --------------------------------------------------------------------------------------------

    def dirty(self, limit: int) -> list[tuple[int, int]]:
        """The first papers whose index entries are out of date, and which fields are."""
        return self.db.execute("SELECT paper, fields FROM dirty WHERE NOT taken ORDER BY paper LIMIT ?", (limit,)).fetchall()

    def own_texts(self, nums: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        """Number, date (yyyymmdd) and own text of papers, in order of number."""
        with_sentences = self._texts("SELECT paper, text FROM sentences WHERE paper IN", nums)
        for num, title, abstract, year, date in self._select(
            "SELECT num, title, abstract, year, date FROM papers WHERE num IN", nums, " ORDER BY num"
        ):
            text = f"{title}\n{abstract}"
            if num in with_sentences:
                # Sources often give the abstract as sentences too; those count once.
                text = "\n".join((text, *(s for s in with_sentences[num] if s not in text)))
            yield num, date_number(year, date), text

    def authors(self, nums: Sequence[int]) -> dict[int, list[Name]]:
        """The authors of papers, by number."""
        selected = self._select("SELECT num, json_extract(details, '$.authors') FROM papers WHERE num IN", nums)
        return {num: parse_all(_names.decode(names)) for num, names in selected if names}

    def cited_texts(self, nums: Sequence[int]) -> dict[int, list[str]]:
        """The contexts in which others cite these papers."""
        return self._texts(
            "SELECT cited, text FROM targets JOIN contexts ON num = context WHERE cited IN", nums, " ORDER BY cited, num"
        )

    def cited_contexts(self, nums: Sequence[int], latest: int) -> Iterator[tuple[int, int, str]]:
        """The `latest` contexts added last that cite each of these papers: the cited number, the citing number and the text."""
        yield from self._select(
            "SELECT cited, citing, text FROM (SELECT targets.cited, contexts.citing, text, row_number() OVER"
            " (PARTITION BY targets.cited ORDER BY context DESC) AS place FROM targets JOIN contexts ON num = context"
            " WHERE targets.cited IN",
            nums,
            f") WHERE place <= {latest}",
        )

    def citing_texts(self, nums: Sequence[int]) -> dict[int, list[str]]:
        """The contexts in which these papers cite others."""
        return self._texts("SELECT citing, text FROM contexts WHERE citing IN", nums, " ORDER BY citing, num")

    def links(self, direction: str, nums: Sequence[int]) -> list[tuple[int, int]]:
        """These papers' links in one direction as pairs, ordered."""
        end, other = {"cites": ("citing", "cited"), "cited_by": ("cited", "citing")}[direction]
        query = f"SELECT {end}, {other} FROM citations WHERE {end} IN"
        return self._select(query, nums, f" ORDER BY {end}, {other}").fetchall()

    def _texts(self, query: str, nums: Sequence[int], end: str = "") -> dict[int, list[str]]:
        texts = defaultdict(list)
        for num, text in self._select(query, nums, end):
            texts[num].append(text)
        return texts

    def _select(self, query: str, values: Iterable[object], end: str = "") -> sqlite3.Cursor:
        return self.db.execute(f"{query} (SELECT value FROM json_each(?)){end}", (_json(values),))

    # -- counts -----------------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """The number of papers, citations, contexts, sentences and papers to index."""
        queries = {
            "papers": "SELECT count(*) FROM papers",
            "with_abstract": "SELECT count(*) FROM papers WHERE abstract <> ''",
            "citations": "SELECT count(*) FROM citations",
            "waiting": "SELECT count(*) FROM (SELECT DISTINCT citing, reference FROM waiting)",
            "contexts": "SELECT count(*) FROM contexts",
            "waiting_contexts": "SELECT count(*) FROM parked",
            "sentences": "SELECT count(*) FROM sentences",
            "to_index": "SELECT count(*) FROM dirty",
        }
        return {name: int(self.db.execute(query).fetchone()[0]) for name, query in queries.items()}


def date_number(year: int | None, date: str) -> int:
    """A date as yyyymmdd, with zeros for unknown parts; 0 for no date."""
    if year is None:
        return 0
    _, month, day = (*date.split("-"), "", "", "")[:3] if date.startswith(str(year)) else ("", "", "")
    return year * 10_000 + (int(month) if month.isdecimal() else 0) * 100 + (int(day) if day.isdecimal() else 0)


def _containing(text: str) -> str:
    """The SQL LIKE pattern of strings that contain a text."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _json(values: Iterable[object]) -> str:
    return msgspec.json.encode(list(values)).decode()
