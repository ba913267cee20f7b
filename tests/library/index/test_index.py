"""After any history of adds, merges, contexts and removals the index agrees with the store.

`stored` is the slow twin: it reads every text from the store and counts its words. `indexed` reads the same from the segments,
as a query does. They must agree for any stack of segments, across the edge of a block, and after a rebuild.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.library import Library
from citewell.library.index import indexer, postings
from citewell.library.index.index import Index
from citewell.library.index.postings import AUTHORS, BLOCK, BLOCK_BITS, INDEXED, JOINED
from citewell.library.store.store import date_number
from citewell.text.analysis import terms
from tests.library.records import memory, store, write_jsonl

EXAMPLES = int(os.environ.get("CITEWELL_EXAMPLES", "60"))

Texts = dict[int, Counter[int]]
"""For each paper the terms (by hash) of one of its texts, and the frequency of each."""

# -- histories --------------------------------------------------------------------------------------------------------------

names = st.integers(0, 7).map(lambda number: f"p{number}")
words = st.lists(st.sampled_from([f"x{number}" for number in range(8)]), max_size=6).map(" ".join)


@st.composite
def papers(draw: st.DrawFn) -> dict[str, Any]:
    """A line of a file; two of them may be the same paper by id, by DOI, or by title, author and year."""
    record: dict[str, Any] = {"id": draw(names), "title": draw(words) or "untitled", "abstract": draw(words)}
    record["references"] = draw(st.lists(names, max_size=2))
    record["sentences"] = draw(st.lists(words.filter(bool), max_size=2))
    if draw(st.booleans()):
        record |= {
            "authors": draw(
                st.sampled_from([["Ada Lovelace"], ["Lovelace, A.", "Luigi Menabrea"], ["Ada Lovelace; L. Menabrea"]])
            ),
            "year": draw(st.integers(2018, 2021)),
            "date": draw(st.sampled_from(["", "2019-05"])),
        }
    if draw(st.booleans()):
        record["doi"] = f"10.1000/{draw(st.integers(0, 2))}"
    return record


@st.composite
def contexts(draw: st.DrawFn) -> dict[str, Any]:
    cited = draw(st.lists(names, min_size=1, max_size=2))
    return {"id": draw(st.sampled_from("ab")), "citing": draw(names), "cited": cited, "text": draw(words) or "TARGETCIT"}


adds = st.lists(papers() | contexts(), min_size=2, max_size=8)
removals = st.lists(names, min_size=1, max_size=3)
histories = st.lists(
    adds.map(lambda lines: ("add", lines)) | removals.map(lambda gone: ("remove", gone)), min_size=1, max_size=7
)


SETTLED = [{"id": f"p{number}", "title": f"x{number} of old", "references": ["p1"]} for number in range(40)]
SETTLED += [{"id": "old", "citing": f"p{n}", "cited": ["p1", "p2"], "text": f"x{n} TARGETCIT"} for n in range(30)]
"""Large enough that small changes are not merged with it, so that later segments must record what is gone."""


def live_through(library: Library, history: list[tuple[str, list[Any]]]) -> None:
    for action, what in history:
        if action == "add":
            source = library.folder / "source.jsonl"
            library.add([write_jsonl(source, [{"id": "p0", "title": "the first", "ids": []}, *what])])
        else:
            known = [name for name in what if library.store.find(name)]
            if known:
                library.remove(known)
        library.close()


# -- what the store says, and what the index says ---------------------------------------------------------------------------


def stored(library: Library, field: str) -> Texts:
    db = library.store.db
    texts: dict[int, list[str]] = {}
    if field == "own":
        for num, title, abstract in db.execute("SELECT num, title, abstract FROM papers"):
            own = f"{title}\n{abstract}"
            sentences = [text for (text,) in db.execute("SELECT text FROM sentences WHERE paper = ?", (num,))]
            texts[num] = [own, *(text for text in sentences if text not in own)]
    elif field == AUTHORS:
        for num, details in db.execute("SELECT num, details FROM papers"):
            if authors := json.loads(details).get("authors"):
                both = "lovelace0 lovelace0a menabrea0 menabrea0l"
                texts[num] = [both if "Menabrea" in "".join(authors) else "lovelace0 lovelace0a"]
    else:
        pairs = {
            "cited": "SELECT cited, text FROM targets JOIN contexts ON num = context WHERE cited IS NOT NULL",
            "citing": "SELECT citing, text FROM contexts",
        }
        for num, text in db.execute(pairs[field]):
            texts.setdefault(num, []).append(text)
    return {num: counted("\n".join(parts)) for num, parts in texts.items()}


def joined(library: Library, field: str) -> Texts:
    """Own text and another as one; papers that lack the other keep their own text."""
    own, other = stored(library, "own"), stored(library, JOINED[field])
    return {num: text + other.get(num, Counter()) for num, text in own.items()}


def counted(text: str) -> Counter[int]:
    return Counter({term: times for term, (_, times) in terms(text).items()})


def indexed(index: Index, field: str) -> tuple[Texts, dict[int, int], Counter[int]]:
    """The texts of a field as its postings have them, their lengths, and the document frequency of each term."""
    every = np.array(sorted({term for at in index.segments(field) for term in at.postings.terms.tolist()}), np.int64)
    texts: Texts = {}
    lengths: dict[int, int] = {}
    holding: Counter[int] = Counter()
    for segment in index.segments(field):
        first = (segment.entry.block << BLOCK_BITS) + segment.postings.first
        live = np.isfinite(segment.lengths)
        for at in np.flatnonzero(live).tolist():
            assert first + at not in lengths, "two segments have live postings of one paper"
            lengths[first + at] = int(segment.lengths[at])
            texts[first + at] = Counter()
        places = segment.look_up(every)
        for position, term in enumerate(every.tolist()):
            docs, times = segment.posting(places, position)
            for doc, frequency in zip(docs.tolist(), times.tolist(), strict=True):
                if live[doc]:
                    texts[first + doc][term] = frequency
                    assert segment.frequencies(places, position, np.array([doc]))[0] == frequency
            holding[term] += int(places.counts[position])
    return texts, lengths, +holding


def agree(library: Library) -> None:
    library.reload()
    index = library.index
    assert not index.warnings
    for field in INDEXED:
        expected = joined(library, field) if field in JOINED else stored(library, field)
        texts, lengths, holding = indexed(index, field)
        assert texts == expected, field
        assert lengths == {num: text.total() for num, text in expected.items()}
        assert holding == Counter(term for text in expected.values() for term in text)
        assert index.listed(field).tolist() == sorted(stored(library, JOINED.get(field, field)))
        full = [text.total() for text in expected.values() if text]
        assert index.totals(field) == (len(full), sum(full) / len(full) if full else 1.0)
        some = np.array(sorted(counted("x0 x1 x2 nowhere")), np.int64)
        assert index.occurrences(field, some).tolist() == [sum(text[term] for text in expected.values()) for term in some]
    for direction, ends in (("cites", "citing, cited"), ("cited_by", "cited, citing")):
        pairs = library.store.db.execute(f"SELECT {ends} FROM citations ORDER BY {ends}").fetchall()
        everyone = np.array([num for (num,) in library.store.db.execute("SELECT num FROM papers ORDER BY num")], np.int64)
        targets, counts = index.graph.neighbours(direction, everyone)
        assert list(zip(np.repeat(everyone, counts).tolist(), targets.tolist(), strict=True)) == pairs
        backwards = everyone[::-1]
        assert index.graph.degrees(direction, backwards).tolist() == counts[::-1].tolist()
        listed = [num for block in index.graph.blocks(direction) for num in index.graph.listed(direction, block).tolist()]
        assert set(listed) >= {num for num, _ in pairs}
        gone = np.array(sorted(set(listed) - set(everyone.tolist())), np.int64)
        assert not index.graph.degrees(direction, gone).any()
    for num, year, date in library.store.db.execute("SELECT num, year, date FROM papers"):
        assert index.dates(num >> BLOCK_BITS)[num & (BLOCK - 1)] == date_number(year, date)
    assert library.check().sound


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories, st.booleans(), st.sampled_from([1, BLOCK - 5]), st.integers(1, 4), st.sampled_from([1, 3, 256]))
def test_the_index_agrees_with_the_store(history: Any, settled: bool, first: int, height: int, dense: int) -> None:
    with (
        tempfile.TemporaryDirectory(dir=memory()) as folder,
        patch.object(indexer, "_STACK_HEIGHT", height),
        patch.object(postings, "_DENSE_AT_LEAST", dense),
    ):
        with store(Path(folder)) as db:
            db.execute("UPDATE meta SET value = ? WHERE name = 'next_paper'", (first,))
        library = Library(folder)
        library.rebuild()
        live_through(library, [("add", SETTLED), *history] if settled else history)
        agree(library)
        library.rebuild()
        agree(library)
        library.close()


def test_the_same_context_of_two_papers_counts_once_when_they_are_merged(tmp_path: Path) -> None:
    cited = {"id": "p1", "title": "x1", "authors": []}
    two = [{"id": name, "title": name, "ids": [f"set:{name}"], "references": ["p1"]} for name in ("p2", "p3")]
    contexts = [
        {"id": "a", "citing": name, "citing_ids": [f"set:{name}"], "cited": ["p1"], "text": "x5"} for name in ("p2", "p3")
    ]
    library = Library(tmp_path / "library")
    library.add([write_jsonl(tmp_path / "apart.jsonl", [cited, *two, *contexts])])
    assert stored(library, "cited") == {1: Counter(dict.fromkeys(counted("x5"), 2))}
    library.add([write_jsonl(tmp_path / "one.jsonl", [{"id": "p2", "title": "p2", "ids": ["set:p2", "set:p3"]}])])
    agree(library)
    assert stored(library, "cited") == {1: counted("x5")}
