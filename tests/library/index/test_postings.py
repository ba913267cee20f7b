"""Segments in memory and on disk: building, merging and mapping them loses nothing, in lists and in dense rows alike."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from citewell.arrays import DamagedFileError, checksum, map_arrays, write_arrays
from citewell.library.index import postings
from citewell.library.index.postings import BLOCK, GONE, Postings

HASHES = np.array([0, 70, -5, 33, 2**62, -(2**63), 8], np.int64)
"""The hash of each term number; number 0 is for stop words and never occurs."""

Texts = dict[int, list[int] | None]
"""Paper within the block to its term numbers, None where it is gone."""

numbers = st.integers(0, 30) | st.integers(BLOCK - 30, BLOCK - 1)
texts = st.dictionaries(numbers, st.none() | st.lists(st.integers(1, len(HASHES) - 1), max_size=12), min_size=1, max_size=12)
dense_from = st.sampled_from([1, 2, 256])


def built(papers: Texts) -> Postings:
    order = sorted(papers)
    texts = [papers[num] for num in order]
    return postings.build(
        np.array(order, np.uint16),
        np.array([GONE if terms is None else len(terms) for terms in texts], np.uint32),
        np.array([20_000_000 + num if terms is not None else 0 for num, terms in zip(order, texts, strict=True)], np.int32),
        np.array([term for terms in texts for term in terms or ()], np.int32),
        HASHES,
    )


def read(segment: Postings) -> tuple[dict[int, dict[int, int] | None], dict[int, int]]:
    """The postings of each paper of a segment (term hash to frequency, None where it is gone), and the papers' dates."""
    frequencies_of: dict[int, dict[int, int] | None] = {
        num: None if length == GONE else {}
        for num, length in zip(segment.papers.tolist(), segment.lengths.tolist(), strict=True)
    }
    rows = {term: row for row, term in enumerate(segment.dense_terms.tolist())}
    for at, term in enumerate(segment.terms.tolist()):
        here = slice(segment.starts[at], segment.starts[at + 1])
        docs, times = segment.docs[here].tolist(), segment.frequencies[here].tolist()
        if at in rows:
            assert not docs, "the list of a dense term is empty"
            docs = np.flatnonzero(segment.dense[rows[at]]).tolist()
            times = segment.dense[rows[at]][docs].tolist()
        assert docs == sorted(set(docs)) and len(docs) == segment.counts[at] > 0
        for doc, frequency in zip(docs, times, strict=True):
            own = frequencies_of[doc + segment.first]
            assert own is not None, "a paper that is gone has postings"
            own[term] = frequency
    return frequencies_of, dict(zip(segment.papers.tolist(), segment.dates.tolist(), strict=True))


def expected(papers: Texts) -> dict[int, dict[int, int] | None]:
    return {
        num: None if terms is None else {int(HASHES[term]): terms.count(term) for term in set(terms)}
        for num, terms in papers.items()
    }


@settings(deadline=None)
@given(texts, dense_from)
def test_a_segment_has_the_postings_it_was_built_from(papers: Texts, dense: int) -> None:
    with patch.object(postings, "_DENSE_AT_LEAST", dense):
        segment = built(papers)
    assert read(segment)[0] == expected(papers)
    assert np.array_equal(segment.terms, np.sort(segment.terms))
    assert len(segment.dense_terms) == 0 or dense < 256


@given(st.lists(st.tuples(texts, dense_from), min_size=1, max_size=4), dense_from, st.booleans())
@settings(max_examples=120, deadline=None)
def test_a_merged_segment_has_the_newest_postings_of_its_stack(
    stack: list[tuple[Texts, int]], dense: int, keep_gone: bool
) -> None:
    segments = []
    for papers, dense_here in stack:
        with patch.object(postings, "_DENSE_AT_LEAST", dense_here):
            segments.append(built(papers))
    newest = {num: terms for papers, _ in stack for num, terms in papers.items()}
    with patch.object(postings, "_DENSE_AT_LEAST", dense):
        merged = postings.merge(segments, keep_gone)
    remaining = {num: terms for num, terms in newest.items() if keep_gone or terms is not None}
    if not remaining:
        assert merged is None
        return
    assert merged is not None
    frequencies_of, dates = read(merged)
    assert frequencies_of == expected(remaining)
    assert dates == {num: 20_000_000 + num if terms is not None else 0 for num, terms in remaining.items()}
    assert dict(zip(merged.papers.tolist(), merged.lengths.tolist(), strict=True)) == {
        num: GONE if terms is None else len(terms) for num, terms in remaining.items()
    }


@pytest.mark.parametrize(("times", "counted", "dense"), [(255, 255, True), (256, 256, False), (70_000, 0xFFFF, False)])
def test_a_term_that_fills_a_paper(times: int, counted: int, dense: bool) -> None:
    papers: Texts = {num: [1] for num in range(300)} | {7: [1] * times}
    segment = built(papers)
    assert (len(segment.dense_terms) == 1) == dense
    assert read(segment)[0][7] == {70: counted}
    merged = postings.merge([segment], keep_gone=False)
    assert merged is not None and read(merged)[0][7] == {70: counted}


# -- on disk ----------------------------------------------------------------------------------------------------------------

dtypes = arrays_of.integer_dtypes() | arrays_of.unsigned_integer_dtypes() | arrays_of.floating_dtypes()
shapes = arrays_of.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=40)
named = st.dictionaries(st.text(min_size=1, max_size=8), arrays_of.arrays(dtypes, shapes), max_size=5)


@given(arrays=named)
@settings(max_examples=60, deadline=None)
def test_arrays_are_read_back_from_their_file(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("arrays") / "some.seg"
    size, crc = write_arrays(path, arrays)
    assert (path.stat().st_size, checksum(path)) == (size, crc)
    assert [file.name for file in path.parent.iterdir()] == ["some.seg"], "no temporary file is left"
    mapped = map_arrays(path, size)
    assert mapped.keys() == arrays.keys()
    for name, array in arrays.items():
        assert mapped[name].dtype == array.dtype and mapped[name].shape == array.shape
        assert mapped[name].tobytes() == array.tobytes()
        assert not mapped[name].flags.writeable


def test_every_cut_and_every_flip_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "some.seg"
    size, crc = write_arrays(path, built({3: [1, 2, 2], 9: None})._asdict())
    whole = path.read_bytes()
    for cut in range(0, size, 97):
        path.write_bytes(whole[:cut])
        with pytest.raises(DamagedFileError, match=r"some\.seg has"):
            map_arrays(path, size)
    for at in range(0, size, 61):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        assert checksum(path) != crc
    path.write_bytes(bytes(size))
    with pytest.raises(DamagedFileError, match="not a citewell index file"):
        map_arrays(path, size)
    path.unlink()
    with pytest.raises(DamagedFileError, match="missing"):
        map_arrays(path, size)


@given(data=st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_a_file_of_noise_is_damaged_and_nothing_worse(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "some.seg"
    for content in (data, b"CITEWELL" + data, b"CITEWELL" + (len(data)).to_bytes(8, "little") + data):
        path.write_bytes(content)
        with suppress(DamagedFileError):
            assert map_arrays(path, len(content)) == {}
