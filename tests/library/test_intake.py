"""Whatever the order and the batches in which records come, the library is the same.

The heart is `test_order_and_batches_do_not_matter`: made-up records that share ids, titles, authors and years in every way, and
cite one another by id or by title and year, are taken in in some order. What the store then holds must be what `World`, the slow
and obvious twin of the intake, says of the records as a set.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from taking import dump, store, take

from citewell.library.identity import family_name, paper_keys, reference_ids, reference_title, title_key, waiting_keys
from citewell.library.library import Library
from citewell.library.rows import COLUMNS, from_columns
from citewell.papers import Context, Paper, Reference, Sentence

EXAMPLES = int(os.environ.get("CITEWELL_EXAMPLES", "150"))

# -- made-up records --------------------------------------------------------------------------------------------------------

IDS = ["doi:10.1000/1", "arxiv:2001.00001", "pmid:11", "acl:P19-1001", "doi:10.18653/v1/p19-1001", "openalex:W5", "corpus:6"]
IDS += [f"set:{number}" for number in range(5)]
TITLES = ["", "On graphs", "ON GRAPHS!", "Deep trees", "Éditorial", "Editorial"]
AUTHORS = [[], ["Ada Lovelace"], ["A. Lovelace", "Bob Stone"], ["Stone, Bob"], ["Cy Young"]]
YEARS = [None, 2018, 2019, 2020, 2022]
DATES = ["", "2019", "2019-05", "2019-05-17", "2020"]
TEXTS = ["one TARGETCIT", "two TARGETCIT", "three TARGETCIT"]


@st.composite
def references(draw: st.DrawFn) -> Reference:
    ids = draw(st.lists(st.sampled_from(IDS), max_size=2, unique=True))
    if ids and draw(st.booleans()):
        return Reference(ids)
    return Reference(ids, draw(st.sampled_from(TITLES[1:])), draw(st.sampled_from(YEARS)), draw(st.sampled_from(AUTHORS)))


@st.composite
def contexts(draw: st.DrawFn, citing: bool) -> Context:
    return Context(
        draw(st.sampled_from(TEXTS)),
        draw(st.lists(references(), min_size=1, max_size=2)),
        draw(st.sampled_from(IDS)) if citing else "",
        id=draw(st.sampled_from(["", "c1"])),
    )


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    title = draw(st.sampled_from(TITLES))
    return Paper(
        title,
        draw(st.sampled_from(["", "says this", "says that"])),
        draw(st.sampled_from(AUTHORS)),
        draw(st.sampled_from(YEARS)),
        draw(st.sampled_from(DATES)),
        draw(st.sampled_from(["", "Here", "There"])),
        draw(st.lists(st.sampled_from(IDS), min_size=0 if title else 1, max_size=2, unique=True)),
        draw(st.sampled_from(["", "a", "b"])),
        draw(st.lists(st.sampled_from(["graph", "tree"]), max_size=2, unique=True)),
        draw(st.lists(references(), max_size=3)),
        draw(st.lists(st.builds(Sentence, st.sampled_from("ABC")), max_size=3, unique_by=lambda s: s.text)),
        draw(st.lists(contexts(citing=False), max_size=2)),
        draw(st.dictionaries(st.sampled_from(["citekey", "pages"]), st.sampled_from("xy"), max_size=2)),
    )


records = st.lists(papers() | papers() | papers() | contexts(citing=True), min_size=5, max_size=10)


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[Paper | Context], list[list[Paper | Context]], list[list[Paper | Context]]]:
    """Some records, and two ways of cutting an order of them into batches."""
    made = draw(records)
    return made, draw(batches(made)), draw(batches(made))


@st.composite
def batches(draw: st.DrawFn, made: list[Any]) -> list[list[Any]]:
    order = draw(st.permutations(made))
    cuts = sorted(draw(st.sets(st.integers(1, len(made)), max_size=len(made))) | {len(made)})
    return [order[start:end] for start, end in zip([0, *cuts], cuts, strict=False)]


# -- what should come of them -----------------------------------------------------------------------------------------------


class Known:
    """A paper as the world knows it: every record of it."""

    def __init__(self, paper: Paper) -> None:
        self.records = [paper]
        self.keys = set(paper_keys(paper))
        self.titles = {title_key(paper.title)} - {None}
        self.years = {paper.year} - {None}
        self.families = {family_name(author) for author in paper.authors}

    def same(self, other: Known) -> bool:
        return bool(
            self.keys & other.keys
            or (self.titles & other.titles and self.families & other.families and near(self.years, other.years))
        )

    def absorb(self, other: Known) -> None:
        self.records += other.records
        for name in ("keys", "titles", "years", "families"):
            getattr(self, name).update(getattr(other, name))

    def fits(self, reference: Reference) -> bool:
        by_title = reference_title(reference) in self.titles and near(self.years, {reference.year})
        return by_title or not self.keys.isdisjoint(reference_ids(reference))

    def given(self, field: str) -> set[str]:
        """Every value that a record gives for a field."""
        if field in ("citekey", "pages"):
            values = {record.extra.get(field, "") for record in self.records}
        elif field == "authors":
            values = {"; ".join(record.authors) for record in self.records}
        else:
            values = {str(getattr(record, field) or "") for record in self.records}
        return values - {""}


def near(one: set[Any], other: set[Any]) -> bool:
    return any(abs(a - b) <= 1 for a in one for b in other)


class World:
    """The papers that some records describe, and what they say of one another."""

    def __init__(self, made: list[Paper | Context]) -> None:
        self.papers = [Known(record) for record in made if isinstance(record, Paper)]
        while pair := next((pair for pair in combinations(self.papers, 2) if pair[0].same(pair[1])), None):
            pair[0].absorb(pair[1])
            self.papers.remove(pair[1])
        self.contexts: dict[tuple[int, str, str], list[Reference]] = defaultdict(list)
        self.parked = set()
        for at, known in enumerate(self.papers):
            for context in (context for record in known.records for context in record.contexts):
                self.contexts[at, context.id, context.text] += context.cited
        for context in (record for record in made if isinstance(record, Context)):
            place = [at for at, known in enumerate(self.papers) if known.keys & set(citing_keys(context))]
            if place:
                self.contexts[place[0], context.id, context.text] += context.cited
            else:
                self.parked.add(json.dumps(msgspec.to_builtins(context), sort_keys=True))

    def cited(self, citing: int) -> list[Reference]:
        said = [reference for record in self.papers[citing].records for reference in record.references]
        return said + [reference for (at, *_), cited in self.contexts.items() if at == citing for reference in cited]

    def candidates(self, reference: Reference) -> set[int]:
        """The papers that a reference may mean; with more than one, the library may choose."""
        return {at for at, known in enumerate(self.papers) if known.fits(reference)}


def citing_keys(context: Context) -> list[str]:
    return paper_keys(Paper(ids=[context.citing]))


def compare(db: sqlite3.Connection, world: World) -> None:
    """The store holds what the world says, and nothing else."""
    nums = [papers_of(db, known) for known in world.papers]
    assert all(len(found) == 1 for found in nums), "one paper was kept as two"
    at_num = {found.pop(): at for at, found in enumerate(nums)}
    assert len(at_num) == len(world.papers), "two papers were kept as one"
    assert {num for (num,) in db.execute("SELECT num FROM papers")} == set(at_num)
    for num, at in at_num.items():
        compare_paper(db, num, world.papers[at])
    compare_citations(db, at_num, world)
    compare_contexts(db, at_num, world)


def papers_of(db: sqlite3.Connection, known: Known) -> set[int]:
    found = [{num for (num,) in db.execute("SELECT paper FROM ids WHERE key = ?", (key,))} for key in sorted(known.keys)]
    assert all(found), "an id is not found"
    return set.union(*found)


def compare_paper(db: sqlite3.Connection, num: int, known: Known) -> None:
    row = from_columns(db.execute(f"SELECT {COLUMNS} FROM papers WHERE num = ?", (num,)).fetchone())
    assert set(row.paper.ids) == known.keys
    assert set(row.paper.keywords) == {word for record in known.records for word in record.keywords}
    assert row.title_key == title_key(row.paper.title)
    for field in ("title", "abstract", "authors", "year", "venue", "citekey", "pages"):
        kept = row.paper.extra.get(field) if field in ("citekey", "pages") else getattr(row.paper, field)
        kept = "; ".join(kept) if isinstance(kept, list) else str(kept or "")
        also = row.also.get(f"extra.{field}" if field in ("citekey", "pages") else field, [])
        assert {kept, *also} - {""} == known.given(field), field
        assert kept not in also
    dates = {row.paper.date, *row.also.get("date", ())}
    assert {date for date in known.given("date") if not any(kept.startswith(date) for kept in dates)} == set()
    found = [text for (text,) in db.execute("SELECT text FROM sentences WHERE paper = ? ORDER BY position", (num,))]
    assert sorted(found) == sorted({sentence.text for record in known.records for sentence in record.sentences})
    assert row.sentences == len(found)
    for key in known.given("citekey"):
        assert db.execute("SELECT 1 FROM ids WHERE key = ? AND paper = ?", (f"key:{key}", num)).fetchone()


def compare_citations(db: sqlite3.Connection, at_num: dict[int, int], world: World) -> None:
    for num, at in at_num.items():
        cited = {at_num[other] for (other,) in db.execute("SELECT cited FROM citations WHERE citing = ?", (num,))}
        choices = [world.candidates(reference) for reference in world.cited(at)]
        assert cited <= set().union(*choices) - {at}
        # Each that can only mean one paper is resolved to it; each that may mean several, to one of them.
        assert all(choice & (cited | {at}) for choice in choices if choice)
        if all(len(choice) < 2 for choice in choices):
            assert cited == set().union(*choices) - {at}
        waits: dict[int, set[Any]] = defaultdict(set)
        for reference, key, year in db.execute("SELECT reference, key, year FROM waiting WHERE citing = ?", (num,)):
            waits[reference] |= {key, year} if key.startswith("title:") else {key}
        expected = {sought(reference) for reference in world.cited(at) if not world.candidates(reference)}
        assert {frozenset(keys) for keys in waits.values()} == expected


def sought(reference: Reference) -> frozenset[Any]:
    """What the store knows a reference by."""
    ids, title = reference_ids(reference), reference_title(reference)
    year = set() if title is None else {reference.year}
    return frozenset({*waiting_keys(reference, ids, title), *year})


def compare_contexts(db: sqlite3.Connection, at_num: dict[int, int], world: World) -> None:
    found = db.execute("SELECT citing, id, text, num FROM contexts").fetchall()
    assert sorted((at_num[num], name, text) for num, name, text, _ in found) == sorted(world.contexts)
    for citing, name, text, num in found:
        said = world.contexts[at_num[citing], name, text]
        targets = db.execute("SELECT citing, cited FROM targets WHERE context = ?", (num,)).fetchall()
        assert len(targets) == len({sought(reference) for reference in said})
        assert {source for source, _ in targets} <= {citing}
        choices = [world.candidates(reference) or {None} for reference in said]
        meant = {at_num.get(cited) for _, cited in targets}
        assert meant <= set().union(*choices)
        assert all(choice & meant for choice in choices)
    parked = [json.loads(text) for (text,) in db.execute("SELECT context FROM parked")]
    assert sorted(json.dumps(context, sort_keys=True) for context in parked) == sorted(world.parked)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(orders())
def test_order_and_batches_do_not_matter(made: tuple[list[Any], list[list[Any]], list[list[Any]]]) -> None:
    records, first, again = made
    with tempfile.TemporaryDirectory(dir=memory()) as folder, store(Path(folder)) as db:
        take(db, *first)
        compare(db, World(records))
        assert not Library(folder).check().store
        before = dump(db)
        assert sum(take(db, *again)) == 0
        assert dump(db) == before, "adding everything twice changed something"


def memory() -> str | None:
    """Where files are quick."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
