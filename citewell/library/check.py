"""Verification of a library: the store, the index, and that they agree."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from citewell.arrays import checksum
from citewell.errors import CitewellError
from citewell.library.index import manifest as manifests
from citewell.library.index.index import Index
from citewell.library.index.links import BITS as LINK_BITS
from citewell.library.index.postings import AUTHORS, BLOCK_BITS, JOINED, STALE_BY
from citewell.library.store import statements
from citewell.library.store.identity import is_supplement, title_overlap
from citewell.library.store.store import Store
from citewell.papers import Paper
from citewell.text.author_terms import families

_SAME_TITLE = 0.6
"""The share of words that the titles of two versions of a work have in common at least."""
_SAME_YEARS = 2
"""By how many years two versions of a work differ at most."""
_DANGLING = {
    "citations whose citing paper is missing": "SELECT count(*) FROM citations WHERE citing NOT IN (SELECT num FROM papers)",
    "citations whose cited paper is missing": "SELECT count(*) FROM citations WHERE cited NOT IN (SELECT num FROM papers)",
    "waiting references of missing papers": "SELECT count(*) FROM waiting WHERE citing NOT IN (SELECT num FROM papers)",
    "contexts whose citing paper is missing": "SELECT count(*) FROM contexts WHERE citing NOT IN (SELECT num FROM papers)",
    "context targets whose context is missing": "SELECT count(*) FROM targets WHERE context NOT IN (SELECT num FROM contexts)",
    "context targets whose cited paper is missing": (
        "SELECT count(*) FROM targets WHERE cited IS NOT NULL AND cited NOT IN (SELECT num FROM papers)"
    ),
    "identifiers whose paper is missing": "SELECT count(*) FROM ids WHERE paper NOT IN (SELECT num FROM papers)",
    "sentences whose paper is missing": "SELECT count(*) FROM sentences WHERE paper NOT IN (SELECT num FROM papers)",
}
_EXPECTED = {
    "own": "SELECT num FROM papers",
    "cited": "SELECT DISTINCT cited FROM targets WHERE cited IS NOT NULL",
    "citing": "SELECT DISTINCT citing FROM contexts",
}
_EXPECTED |= {name: _EXPECTED[other] for name, other in JOINED.items()}
_EXPECTED[AUTHORS] = "SELECT num FROM papers WHERE json_extract(details, '$.authors[0]') IS NOT NULL"


@dataclass(slots=True)
class Verdict:
    """The result of a check."""

    store: list[str] = field(default_factory=list)
    """Damage to the store itself; only a backup, or adding the sources again, repairs it."""
    index: list[str] = field(default_factory=list)
    """Damage to derived files, which ``citewell library rebuild`` repairs."""
    notes: list[str] = field(default_factory=list)
    """Worth knowing, but harmless."""
    doubtful: list[str] = field(default_factory=list)
    """Papers merged from records that may describe different works."""

    @property
    def sound(self) -> bool:
        return not (self.store or self.index)


def check(library: Path) -> Verdict:
    """Verify counts, checksums and both ends of every citation, also while another process writes."""
    store = Store.open(library)
    verdict = Verdict()
    try:
        index = _at_one_moment(library, store)
    except CitewellError as error:
        index = None
        verdict.index.append(str(error))
    try:
        _check_store(store, verdict)
        verdict.doubtful += _doubtful_merges(store)
        if index is not None:
            _check_index(library, index, store, verdict)
    except sqlite3.DatabaseError as error:
        verdict.store.append(f"SQLite: {error}")
    finally:
        store.close()
    return verdict


def _at_one_moment(library: Path, store: Store) -> Index:
    """The index, with the store in a transaction that sees the same state."""
    while True:
        index = Index.open(library)
        store.db.execute("BEGIN")
        store.db.execute("SELECT count(*) FROM meta").fetchone()
        if not manifests.exists(library) or manifests.load(library).generation == index.generation:
            return index
        store.db.execute("ROLLBACK")


def _check_store(store: Store, verdict: Verdict) -> None:
    for (line,) in store.db.execute("PRAGMA quick_check(5)"):
        if line != "ok":
            verdict.store.append(f"SQLite: {line}")
    for what, query in _DANGLING.items():
        if count := int(store.db.execute(query).fetchone()[0]):
            verdict.store.append(f"{count:,} {what}")


def _doubtful_merges(store: Store) -> list[str]:
    """The merged papers whose records differ in title, authors or year, unless the user has put them together."""
    if not statements.recorded(store.db):
        return []
    query = "SELECT paper FROM statements WHERE paper GROUP BY paper HAVING count(*) > 1 AND max(grouped) = '' ORDER BY paper"
    lines = []
    for (num,) in store.db.execute(query).fetchall():
        first, *others = statements.about(store.db, num)
        paper = statements.record(store.db, first)
        doubts = ((each.key, _doubt(paper, statements.record(store.db, each))) for each in others)
        lines += [
            f"{first.key} and {key} are one paper, but {doubt}; if they are not, run 'citewell library split {key}'"
            for key, doubt in doubts
            if doubt
        ]
    return lines


def _doubt(one: Paper, other: Paper) -> str:
    """Why two records may be of different works; empty if nothing speaks for that."""
    if is_supplement(one) or is_supplement(other):
        return ""
    if one.title and other.title and title_overlap(one.title, other.title) < _SAME_TITLE:
        return "their titles differ"
    if one.year and other.year and abs(one.year - other.year) > _SAME_YEARS:
        return f"their years are {one.year} and {other.year}"
    names, other_names = families(one.authors), families(other.authors)
    if names and other_names and names.isdisjoint(other_names):
        return "they have no author in common"
    return ""


def _check_index(library: Path, index: Index, store: Store, verdict: Verdict) -> None:
    for entry in index.entries:
        # One that was there and is not any more has been merged by a writer in the meantime.
        with suppress(FileNotFoundError):
            if checksum(library / manifests.FOLDER / entry.file) != entry.crc32:
                verdict.index.append(f"{entry.file} does not match its checksum")
    verdict.index += index.warnings
    dirty = dict(store.db.execute("SELECT paper, fields FROM dirty"))
    if dirty:
        verdict.notes.append(f"{len(dirty):,} papers are stored but not indexed yet; the next 'citewell add' indexes them")
    for name, query in _EXPECTED.items():
        expected = np.sort(np.fromiter((num for (num,) in store.db.execute(query)), np.int64))
        pending = np.array([num for num, fields in dirty.items() if fields & STALE_BY[name]], np.int64)
        listed = np.setdiff1d(index.listed(name), pending)
        expected = np.setdiff1d(expected, pending)
        if missing := len(np.setdiff1d(expected, listed)):
            verdict.index.append(f"{missing:,} papers are missing from the {name} postings")
        if surplus := len(np.setdiff1d(listed, expected)):
            verdict.index.append(f"{surplus:,} papers in the {name} postings are not in the store")
    for direction, bit in LINK_BITS.items():
        pending = np.array([num for num, fields in dirty.items() if fields & bit], np.int64)
        _check_links(index, store, direction, pending, verdict)


def _check_links(index: Index, store: Store, direction: str, pending: npt.NDArray[np.int64], verdict: Verdict) -> None:
    """Whether the graph has the citations of the store, block by block."""
    last = int(store.db.execute("SELECT value FROM meta WHERE name = 'next_paper'").fetchone()[0]) >> BLOCK_BITS
    end = {"cites": "citing", "cited_by": "cited"}[direction]
    other = {"cites": "cited", "cited_by": "citing"}[direction]
    query = f"SELECT {end}, {other} FROM citations WHERE {end} >= ? AND {end} < ? ORDER BY {end}, {other}"
    wrong = 0
    for block in range(last + 1):
        rows = store.db.execute(query, (block << BLOCK_BITS, (block + 1) << BLOCK_BITS))
        expected = np.array(rows.fetchall(), np.int64).reshape(-1, 2)
        papers = index.graph.listed(direction, block)
        targets, counts = index.graph.neighbours(direction, papers)
        actual = np.column_stack([np.repeat(papers, counts), targets])
        expected, actual = (pairs[~np.isin(pairs[:, 0], pending)] for pairs in (expected, actual))
        if not np.array_equal(expected, actual):
            wrong += abs(len(expected) - len(actual)) or len(actual)
    if wrong:
        verdict.index.append(f"the {direction} links of {wrong:,} citations do not agree with the store")
