"""Looking terms up in a segment, and counting the live papers that contain them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import kernels
from citewell.library import Library
from citewell.library.index import bm25, lookup, postings
from citewell.papers import Paper

HASHES = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 0, -1, 1]), st.integers(0, 40))


def segment(hashes: list[int], dense: bool) -> postings.Postings:
    """Postings of papers that contain each of these terms; dense ones where there are enough papers."""
    papers = np.arange(300 if dense else 3, dtype=np.uint16)
    terms = np.array(hashes, np.int64)
    each = np.arange(len(terms), dtype=np.int32)
    lengths = np.full(len(papers), len(terms), np.uint32)
    return postings.build(papers, lengths, np.zeros(len(papers), np.int32), np.tile(each, len(papers)), terms)


@settings(max_examples=60, deadline=None)
@given(st.lists(HASHES, min_size=1, max_size=60, unique=True), st.lists(HASHES, max_size=40), st.booleans())
def test_the_compiled_search_agrees_with_numpy(terms: list[int], others: list[int], dense: bool) -> None:
    built = segment(terms, dense)
    hashes = np.array([*terms[::2], *others], np.int64)
    expected_at, expected = lookup.find_in_numpy(built, hashes)
    columns = np.empty((5, len(hashes)), np.int64)
    kernels.find_terms(built.terms, built.starts, built.counts, built.dense_terms, hashes, *columns)
    known = expected.counts > 0
    assert (columns[0][known] == expected_at[known]).all()
    assert columns[4].tolist() == expected.counts.tolist()
    assert columns[3].tolist() == expected.rows.tolist()
    assert (columns[2] - columns[1]).tolist() == (expected.ends - expected.starts).tolist()
    assert columns[1][known].tolist() == expected.starts[known].tolist()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library")
    library.take(
        [Paper(ids=[f"doi:10.1/p{at}"], title=f"boat {'harbour' if at % 3 else 'sail'} w{at % 7}") for at in range(600)]
    )
    library.take([Paper(ids=[f"doi:10.1/p{at}"], abstract="a keel and a mast") for at in range(0, 600, 9)])
    library.reload()
    return library


def test_live_counts_are_those_of_the_papers_that_are_not_replaced(library: Library) -> None:
    segments = list(library.index.segments("own"))
    assert segments[0].shadowed is not None
    for segment in segments:
        for _ in range(2):  # the second time from the cached counts
            places = segment.look_up(segment.postings.terms)
            live = np.isfinite(segment.lengths)
            for term in range(len(segment.postings.terms)):
                docs, _ = segment.posting(places, term)
                assert places.counts[term] == np.count_nonzero(live[docs])


def test_the_best_of_blocks_are_those_of_a_sort_whatever_the_ties() -> None:
    random = np.random.default_rng(0)
    for levels in (2, 50, 10_000):
        blocks = {}
        for block in (0, 3, 4):
            scores = np.zeros(postings.BLOCK, np.float32)
            here = random.choice(postings.BLOCK, 20_000, replace=False)
            scores[here] = random.integers(0, levels, 20_000) / np.float32(levels)
            blocks[block] = scores
        numbers = np.concatenate([np.arange(postings.BLOCK) + block * postings.BLOCK for block in blocks])
        everything = np.concatenate(list(blocks.values()))
        for k in (1, 10, 1000, 70_000):
            order = np.lexsort((numbers, -everything))[:k]
            order = order[everything[order] > 0]
            papers, scores = bm25.top_k(blocks, k)
            assert papers.tolist() == numbers[order].tolist()
            assert scores.tolist() == everything[order].tolist()
