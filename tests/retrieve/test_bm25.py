"""BM25 against its obvious twin: one loop over papers, one over terms, straight from the formula."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.collection.local import LocalCollection
from citewell.library.index import postings, scoring
from citewell.library.index.index import Index, Segment, _shadow
from citewell.library.index.manifest import Entry
from citewell.library.index.postings import BLOCK, GONE
from citewell.papers import Query
from citewell.ranking.request import Request
from citewell.retrieve.bm25 import BM25
from citewell.text.analysis import Vocabulary

WORDS = [f"x{number}" for number in range(12)]
Texts = dict[str, dict[int, list[str]]]
"""Field to paper number to words."""

texts = st.lists(st.sampled_from(WORDS), max_size=12)
numbers = st.one_of(st.integers(1, 40), st.integers(BLOCK - 3, BLOCK + 20))
layers = st.lists(
    st.tuples(st.sampled_from(postings.FIELDS), st.dictionaries(numbers, st.none() | texts, max_size=12)), max_size=8
)


def segment(field: str, block: int, papers: dict[int, list[str] | None], vocabulary: Vocabulary, name: str) -> Segment:
    nums = sorted(papers)
    numbers, counts = vocabulary.numbers([" ".join(papers[num] or []) for num in nums])
    lengths = [GONE if papers[num] is None else int(count) for num, count in zip(nums, counts, strict=True)]
    built = postings.build(
        np.array([num % BLOCK for num in nums], np.uint16),
        np.array(lengths, np.uint32),
        np.zeros(len(nums), np.int32),
        numbers,
        np.array(vocabulary.hashes, np.int64),
    )
    real = [length for length in lengths if length not in (0, GONE)]
    return Segment(Entry(name, field, block, len(nums), len(real), sum(real), 0, 0), built)


def layered(history: list[tuple[str, dict[int, list[str] | None]]]) -> tuple[Index, Texts]:
    """An index with these layers added in order, and the final texts."""
    vocabulary = Vocabulary()
    stacks: dict[tuple[str, int], list[Segment]] = {}
    final: Texts = {field: {} for field in postings.FIELDS}
    for level, (field, papers) in enumerate(history):
        for num, words in papers.items():
            final[field].pop(num, None)
            if words is not None:
                final[field][num] = words
        for block in {num // BLOCK for num in papers}:
            part = {num: words for num, words in papers.items() if num // BLOCK == block}
            stacks.setdefault((field, block), []).append(segment(field, block, part, vocabulary, f"{level}-{block}"))
    for stack in stacks.values():
        _shadow(stack)
    return Index(0, stacks, []), final


def twin(final: Texts, query: list[str], fields: dict[str, float], k1: float, b: float) -> dict[int, float]:
    scores: Counter[int] = Counter()
    for field, weight in fields.items():
        docs = {num: words for num, words in final[field].items() if words}
        mean = sum(map(len, docs.values())) / len(docs) if docs else 1
        for word, times in Counter(query).items():
            holding = sum(word in words for words in docs.values())
            idf = math.log(1 + (len(docs) - holding + 0.5) / (holding + 0.5))
            for num, words in docs.items():
                tf = words.count(word)
                if tf:
                    scores[num] += weight * times * idf * tf / (tf + k1 * (1 - b + b * len(words) / mean))
    return {num: score for num, score in scores.items() if score > 0}


def request(index: Index, query: list[str], **filters: Any) -> Request:
    return Request(LocalCollection(SimpleNamespace(index=index)), Query(title=" ".join(query), **filters))  # type: ignore[arg-type]


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=120, deadline=None)
@given(
    history=layers,
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=15),
    fields=st.dictionaries(st.sampled_from(postings.FIELDS), st.floats(0.25, 4), min_size=1),
    k1=st.floats(0, 3),
    b=st.floats(0, 1),
    size=st.integers(1, 30),
    dense_from=st.sampled_from([1, 3, 256]),
)
def test_it_agrees_with_its_twin(
    compiled: bool,
    history: list[tuple[str, dict[int, list[str] | None]]],
    query: list[str],
    fields: dict[str, float],
    k1: float,
    b: float,
    size: int,
    dense_from: int,
) -> None:
    if compiled:
        scoring.load_compiled()
    with (
        patch.object(postings, "_DENSE_AT_LEAST", dense_from),
        patch.object(scoring, "_compiled", scoring._compiled if compiled else None),
    ):
        index, final = layered(history)
        stage = BM25(k1, b, fields, size)
        ranking = stage.retrieve(request(index, query))
        expected = twin(final, query, fields, k1, b)
        assert len(ranking.papers) == min(size, len(expected))
        for num, score in zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True):
            assert score == pytest.approx(expected[num], rel=2e-5)
        left_out = [score for num, score in expected.items() if num not in set(ranking.papers.tolist())]
        assert not left_out or max(left_out) <= ranking.scores[-1] * (1 + 2e-5)
        assert list(zip(-ranking.scores, ranking.papers, strict=True)) == sorted(
            zip(-ranking.scores, ranking.papers, strict=True)
        )
        explained = stage.contributions(request(index, query), ranking.papers.tolist())
        for num, score in zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True):
            assert sum(explained[num].values()) == pytest.approx(score, rel=2e-5)


@settings(max_examples=40, deadline=None)
@given(history=layers, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=15))
def test_numpy_and_compiled_loop_agree_to_the_last_bit(
    history: list[tuple[str, dict[int, list[str] | None]]], query: list[str]
) -> None:
    scoring.load_compiled()
    fields = dict.fromkeys(postings.FIELDS, 0.7)
    with patch.object(postings, "_DENSE_AT_LEAST", 3):
        index, _ = layered(history)
        compiled = BM25(fields=fields).retrieve(request(index, query))
        with patch.object(scoring, "_compiled", None):
            plain = BM25(fields=fields).retrieve(request(index, query))
    assert np.array_equal(compiled.papers, plain.papers)
    assert np.array_equal(compiled.scores, plain.scores)


def test_scores_do_not_depend_on_the_segments() -> None:
    papers: dict[int, list[str] | None] = {num: [WORDS[(num * step) % 12] for step in range(1, 9)] for num in range(1, 400)}
    whole, _ = layered([("own", papers)])
    pieces, _ = layered([("own", {num: papers[num]}) for num in sorted(papers, reverse=True)])
    one, other = (BM25().retrieve(request(index, WORDS)) for index in (whole, pieces))
    assert np.array_equal(one.papers, other.papers)
    assert np.array_equal(one.scores, other.scores)


def test_merging_a_stack_changes_no_score() -> None:
    history = [
        ("own", {1: ["x1", "x2"], 2: ["x2"], 3: ["x1"] * 300}),
        ("own", {2: None, 3: ["x2", "x3"]}),
        ("own", {9: ["x1"]}),
    ]
    index, _ = layered(history)  # type: ignore[arg-type]
    stack = index.stack("own", 0)
    merged = postings.merge([segment.postings for segment in stack], keep_gone=False)
    assert merged is not None
    lengths = merged.lengths.tolist()
    single = Segment(Entry("m", "own", 0, len(lengths), len(lengths), sum(lengths), 0, 0), merged)
    before = BM25().retrieve(request(index, ["x1", "x2", "x3"]))
    after = BM25().retrieve(request(Index(0, {("own", 0): [single]}, []), ["x1", "x2", "x3"]))
    assert merged.papers.tolist() == [1, 3, 9]
    assert np.array_equal(before.papers, after.papers)
    assert np.array_equal(before.scores, after.scores)


def test_frequencies_above_a_byte_are_exact() -> None:
    history = [("own", {num: ["x1"] * (num * 100) for num in range(1, 8)})]
    with patch.object(postings, "_DENSE_AT_LEAST", 1):
        index, final = layered(history)  # type: ignore[arg-type]
    ranking = BM25().retrieve(request(index, ["x1"]))
    expected = twin(final, ["x1"], {"own": 1.0}, 1.2, 0.75)
    assert dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5)
