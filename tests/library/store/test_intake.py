"""The library is the same for any order and any batches of the records.

The heart is `test_order_and_batches_do_not_matter`: made-up records that share ids, titles, authors and years in every way, and
cite one another by id or by title and year, are taken in some order. What the store then holds must be what `World`, the slow
and obvious twin of the intake, says of the records as a set.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.library.library import Library
from citewell.library.store import rows
from citewell.library.store.identity import paper_keys, reference_ids, reference_title, title_key, waiting_keys
from citewell.library.store.store import Store
from citewell.papers import Context, Paper, Reference, Sentence
from citewell.text.author_terms import family_name
from citewell.text.names import parse_all
from tests.library.records import dump, memory, store, take

EXAMPLES = int(os.environ.get("CITEWELL_EXAMPLES", "100"))

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
        parse_all(draw(st.sampled_from(AUTHORS))),
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


# -- the expected result ----------------------------------------------------------------------------------------------------


class Known:
    """A paper with all of its records."""

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
            values = {"; ".join(map(str, record.authors)) for record in self.records}
        else:
            values = {str(getattr(record, field) or "") for record in self.records}
        return values - {""}


def near(one: set[Any], other: set[Any]) -> bool:
    return any(abs(a - b) <= 1 for a in one for b in other)


class World:
    """The papers that some records describe, with their citations and contexts."""

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
        references = [reference for record in self.papers[citing].records for reference in record.references]
        return references + [reference for (at, *_), cited in self.contexts.items() if at == citing for reference in cited]

    def candidates(self, reference: Reference) -> set[int]:
        """The papers that a reference may mean; with more than one, the library may choose."""
        return {at for at, known in enumerate(self.papers) if known.fits(reference)}


def citing_keys(context: Context) -> list[str]:
    return paper_keys(Paper(ids=[context.citing]))


def compare(db: sqlite3.Connection, world: World) -> None:
    """The store has exactly the papers, citations and contexts of the world."""
    nums = [papers_of(db, known) for known in world.papers]
    assert all(len(numbers) == 1 for numbers in nums), "one paper is stored as two"
    at_num = {numbers.pop(): at for at, numbers in enumerate(nums)}
    assert len(at_num) == len(world.papers), "two papers are stored as one"
    assert {num for (num,) in db.execute("SELECT num FROM papers")} == set(at_num)
    for num, at in at_num.items():
        compare_paper(db, num, world.papers[at])
    compare_citations(db, at_num, world)
    compare_contexts(db, at_num, world)


def papers_of(db: sqlite3.Connection, known: Known) -> set[int]:
    papers = [{num for (num,) in db.execute("SELECT paper FROM ids WHERE key = ?", (key,))} for key in sorted(known.keys)]
    assert all(papers), "an id is not found"
    return set.union(*papers)


def compare_paper(db: sqlite3.Connection, num: int, known: Known) -> None:
    row = rows.load(db, num)
    assert set(row.paper.ids) == known.keys
    assert set(row.paper.keywords) == {word for record in known.records for word in record.keywords}
    assert row.title_key == title_key(row.paper.title)
    for field in ("title", "abstract", "authors", "year", "venue", "citekey", "pages"):
        value = row.paper.extra.get(field) if field in ("citekey", "pages") else getattr(row.paper, field)
        value = "; ".join(map(str, value)) if isinstance(value, list) else str(value or "")
        also = row.also.get(f"extra.{field}" if field in ("citekey", "pages") else field, [])
        assert {value, *also} - {""} == known.given(field), field
        assert value not in also
    dates = {row.paper.date, *row.also.get("date", ())}
    assert {date for date in known.given("date") if not any(value.startswith(date) for value in dates)} == set()
    sentences = [text for (text,) in db.execute("SELECT text FROM sentences WHERE paper = ? ORDER BY position", (num,))]
    assert sorted(sentences) == sorted({sentence.text for record in known.records for sentence in record.sentences})
    assert row.sentences == len(sentences)
    for key in known.given("citekey"):
        assert db.execute("SELECT 1 FROM ids WHERE key = ? AND paper = ?", (f"key={key}", num)).fetchone()


def compare_citations(db: sqlite3.Connection, at_num: dict[int, int], world: World) -> None:
    for num, at in at_num.items():
        cited = {at_num[other] for (other,) in db.execute("SELECT cited FROM citations WHERE citing = ?", (num,))}
        choices = [world.candidates(reference) for reference in world.cited(at)]
        assert cited <= set().union(*choices) - {at}
        # A reference that matches one paper is resolved to it; one that matches several, to one of them.
        assert all(choice & (cited | {at}) for choice in choices if choice)
        if all(len(choice) < 2 for choice in choices):
            assert cited == set().union(*choices) - {at}
        waits: dict[int, set[Any]] = defaultdict(set)
        for reference, key, year in db.execute("SELECT reference, key, year FROM waiting WHERE citing = ?", (num,)):
            waits[reference] |= {key, year} if key.startswith("title=") else {key}
        expected = {sought(reference) for reference in world.cited(at) if not world.candidates(reference)}
        assert {frozenset(keys) for keys in waits.values()} == expected


def sought(reference: Reference) -> frozenset[Any]:
    """The keys by which the store identifies a reference."""
    ids, title = reference_ids(reference), reference_title(reference)
    year = set() if title is None else {reference.year}
    return frozenset({*waiting_keys(reference, ids, title), *year})


def compare_contexts(db: sqlite3.Connection, at_num: dict[int, int], world: World) -> None:
    contexts = db.execute("SELECT citing, id, text, num FROM contexts").fetchall()
    assert sorted((at_num[num], name, text) for num, name, text, _ in contexts) == sorted(world.contexts)
    for citing, name, text, num in contexts:
        references = world.contexts[at_num[citing], name, text]
        targets = db.execute("SELECT citing, cited FROM targets WHERE context = ?", (num,)).fetchall()
        assert len(targets) == len({sought(reference) for reference in references})
        assert {source for source, _ in targets} <= {citing}
        choices = [world.candidates(reference) or {None} for reference in references]
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


# -- by example -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with store(tmp_path / "library") as opened:
        yield opened


def counts(db: sqlite3.Connection, *tables: str) -> tuple[int, ...]:
    return tuple(int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables)


def whole(db: sqlite3.Connection, name: str) -> Paper:
    reader = Store(db, Path())
    num = reader.find(name)
    assert num is not None
    return reader.whole(num)


def test_a_third_record_makes_two_papers_one_and_keeps_all_of_both(db: sqlite3.Connection) -> None:
    cited = Paper("Cited", ids=["pmid:1"])
    one = Paper(
        "One title",
        "One abstract",
        venue="Here",
        ids=["doi:10.1000/1"],
        id="first",
        references=[Reference(["pmid:1"]), Reference(["pmid:2"])],
        sentences=[Sentence("Alpha.", "Intro"), Sentence("Beta.")],
        contexts=[Context("see TARGETCIT", [Reference(["pmid:1"])])],
        extra={"citekey": "one2020", "pages": "1-2"},
    )
    other = Paper(
        "Other title",
        authors=parse_all(["Ada Byron"]),
        year=2020,
        venue="There",
        ids=["arxiv:2001.00001"],
        id="second",
        references=[Reference(["pmid:3"])],
        sentences=[Sentence("Beta."), Sentence("Gamma.")],
        contexts=[Context("see TARGETCIT", [Reference(["pmid:3"])]), Context("and TARGETCIT", [Reference(["pmid:1"])])],
        extra={"citekey": "other2020", "pages": "3-4"},
    )
    citing = Paper("Citing", ids=["pmid:9"], references=[Reference(["doi:10.1000/1"]), Reference(["arxiv:2001.00001"])])
    assert take(db, [cited, one, other, citing]) == [4]
    assert counts(db, "papers", "citations", "contexts") == (4, 4, 3)
    assert take(db, [Paper("", ids=["doi:10.1000/1", "arxiv:2001.00001", "corpus:5"])]) == [0]
    assert counts(db, "papers", "citations", "contexts") == (3, 2, 2), "citations and contexts of both are stored once"
    for name in ("doi:10.1000/1", "arxiv:2001.00001", "corpus:5", "first", "second", "one2020", "other2020"):
        paper = whole(db, name)
        assert (paper.title, paper.abstract, paper.authors, paper.year) == (
            "One title",
            "One abstract",
            parse_all(["Ada Byron"]),
            2020,
        )
    assert set(paper.ids) == {"doi:10.1000/1", "arxiv:2001.00001", "corpus:5"}
    assert [sentence.text for sentence in paper.sentences] == ["Alpha.", "Beta.", "Gamma."]
    assert sorted(reference.ids[0] for reference in paper.references) == ["pmid:1", "pmid:2", "pmid:3"]
    assert {context.text: sorted(r.ids[0] for r in context.cited) for context in paper.contexts} == {
        "see TARGETCIT": ["pmid:1", "pmid:3"],
        "and TARGETCIT": ["pmid:1"],
    }
    also = rows.load(db, 2).also
    assert (also["title"], also["venue"], also["extra.pages"]) == (["Other title"], ["There"], ["3-4"])


def test_a_later_source_fills_missing_fields(db: sqlite3.Connection) -> None:
    take(db, [Paper("Title", year=2019, date="2019", ids=["pmid:1"], keywords=["a"])])
    take(
        db,
        [
            Paper(
                "TITLE",
                "Abstract",
                parse_all(["Ada Byron"]),
                2020,
                "2019-05-01",
                "Venue",
                ["pmid:1"],
                "",
                ["b", "a"],
                extra={"url": "u"},
            )
        ],
    )
    paper = whole(db, "pmid:1")
    assert (paper.title, paper.year, paper.date) == ("Title", 2019, "2019-05-01")
    assert (paper.abstract, paper.authors, paper.venue, paper.keywords) == (
        "Abstract",
        parse_all(["Ada Byron"]),
        "Venue",
        ["a", "b"],
    )
    assert paper.extra == {"url": "u"}
    assert rows.load(db, 1).also == {"title": ["TITLE"], "year": ["2020"]}


def test_a_full_text_is_not_lost_to_an_abstract_in_sentences(db: sqlite3.Connection) -> None:
    take(db, [Paper("T", ids=["pmid:1"], sentences=[Sentence("A."), Sentence(""), Sentence("B.")])])
    take(db, [Paper("T", ids=["pmid:1"], sentences=[Sentence("A."), Sentence("C."), Sentence("C.")])])
    assert [sentence.text for sentence in whole(db, "pmid:1").sentences] == ["A.", "", "B.", "C."], "numbers stay"


@pytest.mark.parametrize(
    "reference",
    [
        Reference(["doi:10.1000/1"]),
        Reference(["pmid:404", "doi:10.1000/1"]),
        Reference([], "A waited-for paper!", 2020),
        Reference(["pmid:404"], "a WAITED for paper", 2018),
        Reference(["acl:P19-1001"]),
    ],
)
def test_a_citation_waits_for_its_paper(db: sqlite3.Connection, reference: Reference) -> None:
    citing = Paper("Citing", ids=["pmid:9"], references=[reference], contexts=[Context("as TARGETCIT", [reference])])
    take(db, [citing])
    assert counts(db, "citations") == (0,)
    assert Store(db, Path()).counts()["waiting"] == 1
    assert whole(db, "pmid:9").references == [reference], "it is stored as it was given"
    take(db, [Paper("A waited for paper", year=2019, ids=["doi:10.1000/1", "doi:10.18653/v1/p19-1001"])])
    assert db.execute("SELECT citing, cited FROM citations").fetchall() == [(1, 2)]
    assert db.execute("SELECT citing, cited FROM targets").fetchall() == [(1, 2)]
    assert counts(db, "waiting") == (0,)


@pytest.mark.parametrize(
    "reference", [Reference([], "A paper", None), Reference([], "A paper", 2022), Reference(["pmid:404"], "A paper")]
)
def test_a_citation_that_does_not_match_stays_unresolved(db: sqlite3.Connection, reference: Reference) -> None:
    take(db, [Paper("Citing", ids=["pmid:9"], references=[reference])], [Paper("A paper", year=2019, ids=["pmid:1"])])
    assert counts(db, "citations") == (0,)
    assert Store(db, Path()).counts()["waiting"] == 1


def test_a_paper_that_gets_its_year_later_is_found_by_title_then(db: sqlite3.Connection) -> None:
    take(db, [Paper("Citing", ids=["pmid:9"], references=[Reference([], "A paper", 2019)])])
    take(db, [Paper("A paper", ids=["pmid:1"])])
    assert counts(db, "citations") == (0,)
    take(db, [Paper("", year=2020, ids=["pmid:1"])])
    assert counts(db, "citations", "waiting") == (1, 0)


def test_a_context_waits_for_its_citing_paper(db: sqlite3.Connection) -> None:
    take(db, [Context("says TARGETCIT", [Reference(["pmid:1"])], "doi:10.18653/v1/p19-1001", id="c1")])
    take(db, [Context("says TARGETCIT", [Reference(["pmid:1"])], "doi:10.18653/v1/p19-1001", id="c1")])
    assert counts(db, "contexts", "parked") == (0, 1)
    take(db, [Paper("Citing", ids=["acl:P19-1001"])])
    assert counts(db, "contexts", "parked", "citations") == (1, 0, 0)
    take(db, [Paper("Cited", ids=["pmid:1"])])
    assert counts(db, "contexts", "citations", "waiting") == (1, 1, 0)


def test_the_same_text_for_two_cited_papers_is_one_context_with_two_targets(db: sqlite3.Connection) -> None:
    papers = [Paper(name, ids=[name]) for name in ("pmid:1", "pmid:2", "pmid:9")]
    take(db, papers, [Context("both TARGETCIT", [Reference(["pmid:1"])], "pmid:9")])
    take(db, [Context("both TARGETCIT", [Reference(["pmid:2"])], "pmid:9")])
    assert counts(db, "contexts", "targets") == (1, 2)


def test_a_paper_does_not_cite_itself(db: sqlite3.Connection) -> None:
    take(
        db,
        [Paper("One", ids=["pmid:1"], references=[Reference(["pmid:1"]), Reference(["pmid:2"])]), Paper("Two", ids=["pmid:2"])],
    )
    assert counts(db, "citations") == (1,)
    take(db, [Paper("", ids=["pmid:1", "pmid:2"])])
    assert counts(db, "citations", "papers") == (0, 1)


def test_identifiers_that_look_like_internal_keys_are_harmless(db: sqlite3.Connection) -> None:
    odd = ["title:not a number", "id:x", "key:x", "record:x", "untraceable:x", ":", "a:"]
    citing = Paper("Citing", ids=["pmid:9"], references=[Reference([key]) for key in odd])
    take(db, [citing, *(Context("see TARGETCIT", [Reference(["pmid:9"])], key) for key in odd)])
    assert counts(db, "citations", "parked") == (0, len(odd))
    take(db, [Paper("Named", ids=["pmid:1"], id="x", extra={"citekey": "x"})], [Paper(key, ids=[key]) for key in odd])
    assert counts(db, "parked") == (0,)
    assert counts(db, "waiting") == (0,)


def test_two_papers_with_one_citation_key_are_both_found_by_it(db: sqlite3.Connection) -> None:
    take(db, [Paper("One", ids=["pmid:1"], extra={"citekey": "k"}), Paper("Two", ids=["pmid:2"], extra={"citekey": "k"})])
    assert db.execute("SELECT paper FROM ids WHERE key = 'key=k' ORDER BY paper").fetchall() == [(1,), (2,)]
