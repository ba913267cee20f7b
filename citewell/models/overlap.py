"""Word overlap of a query with sentences and papers: the lexical features next to the neural ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from citewell.types import Float32Array, Float64Array, IntArray, Mask

SENTENCE_FEATURES, PAPER_FEATURES = 5, 4
"""The number of features of a sentence and of a paper."""
_K1, _B, _AVERAGE_LENGTH = 1.2, 0.75, 12.0
"""BM25 on sentences, and the average number of words in one."""
_LENGTH_SCALE = 4.0
"""Brings the logarithm of a sentence's length to the scale of the other features."""


class Overlap(NamedTuple):
    """The words of a query that occur in sentences: one row per sentence."""

    words: Mask
    pairs: Mask
    """Adjacent query words that are also adjacent in the sentence."""
    features: Float32Array


def overlap(query: IntArray, idf: Float32Array, sentences: IntArray) -> Overlap:
    """Compare a query, whose words have these idf values, with sentences (rows of word ids, 0 for none)."""
    same = sentences[:, None, :] == query[None, :, None]
    times = same.sum(axis=2)
    pairs = (same[:, :-1, :-1] & same[:, 1:, 1:]).any(axis=2)
    lengths = (sentences > 0).sum(axis=1)
    norms = _K1 * (1 - _B + _B * lengths / _AVERAGE_LENGTH)
    bm25 = (times / (times + norms[:, None])) @ idf / max(float(idf.sum()), 1e-9)
    features = np.column_stack([_coverage(times > 0, pairs, idf), bm25, np.log1p(lengths) / _LENGTH_SCALE])
    return Overlap(times > 0, pairs, features.astype(np.float32))


def paper_features(overlaps: Overlap, starts: IntArray, idf: Float32Array, bm25: Float32Array) -> Float32Array:
    """The features of papers whose sentences begin at `starts`; `bm25` are their standardised scores."""
    words, pairs = (np.logical_or.reduceat(part, starts, axis=0) for part in (overlaps.words, overlaps.pairs))
    return np.column_stack([bm25, _coverage(words, pairs, idf)]).astype(np.float32)


def _coverage(words: Mask, pairs: Mask, idf: Float32Array) -> Float64Array:
    """The share of the query's words, of its idf mass, and of its word pairs that occur."""
    return np.column_stack(
        [
            words.mean(axis=1) if words.shape[1] else np.zeros(len(words)),
            words @ idf / max(float(idf.sum()), 1e-9),
            pairs.mean(axis=1) if pairs.shape[1] else np.zeros(len(pairs)),
        ]
    )
