"""The lexical benchmark measures work, not remembered answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import checkouts, synthetic
from citewell.library import Library
from citewell.library.index import bm25
from citewell.papers import Query


@pytest.fixture
def library(tmp_path: Path) -> Library:
    synthetic.write_jsonl(tmp_path / "papers.jsonl", 300)
    library = Library(tmp_path / "library")
    library.add([tmp_path / "papers.jsonl"])
    return library


def test_every_query_of_every_pass_reads_the_postings_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = bm25.accumulate
    monkeypatch.setattr(bm25, "accumulate", lambda *arguments: calls.append(1) or real(*arguments))
    rank = checkouts.bm25_ranker(library, 10)
    queries = [Query(title=" ".join(map(synthetic.word, words))) for words in synthetic.queries(20, 30)]
    rankings = [rank(query) for query in queries]
    once = len(calls)
    assert once >= len(queries)
    again = [rank(query) for query in queries]
    assert len(calls) == 2 * once
    assert [ranking.papers.tolist() for ranking in rankings] == [ranking.papers.tolist() for ranking in again]


def test_updates_replace_papers_in_place_and_merging_leaves_one_segment(library: Library, tmp_path: Path) -> None:
    rank = checkouts.bm25_ranker(library, 10)
    query = Query(title=" ".join(map(synthetic.word, synthetic.queries(1, 30)[0])))
    before = rank(query)
    synthetic.write_updates(tmp_path / "updates.jsonl", 300)
    library.add([tmp_path / "updates.jsonl"])
    library.reload()
    segments = list(library.index.segments("own"))
    assert len(library) == 300 and len(segments) > 1 and segments[0].shadowed is not None
    after = rank(query)
    assert (after.papers.tolist(), after.scores.tolist()) == (before.papers.tolist(), before.scores.tolist())
    checkouts.merge_all(library)
    assert len(list(library.index.segments("own"))) == 1
    merged = rank(query)
    assert (merged.papers.tolist(), merged.scores.tolist()) == (before.papers.tolist(), before.scores.tolist())
