"""How much of a question's words sentences and papers hold: the plain features beside what a network makes of their meaning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

OF_SENTENCE, OF_PAPER = 5, 4
"""How many features each has."""
_K1, _B, _USUAL = 1.2, 0.75, 12.0
"""Of BM25 on sentences; the last is how many words one usually has."""
_LONG = 4.0
"""The logarithm of a long sentence's length: what brings it to the scale of shares."""


class Met(NamedTuple):
    """What of a question sentences hold: a row a sentence."""

    words: Mask
    pairs: Mask
    """Words of the question that stand next to one another there, too."""
    features: Floats


def met(question: Numbers, rarity: Floats, sentences: Numbers) -> Met:
    """Compare a question, whose words are so rare, with sentences (rows of word numbers, 0 for none)."""
    same = sentences[:, None, :] == question[None, :, None]
    times = same.sum(axis=2)
    pairs = (same[:, :-1, :-1] & same[:, 1:, 1:]).any(axis=2)
    lengths = (sentences > 0).sum(axis=1)
    norms = _K1 * (1 - _B + _B * lengths / _USUAL)
    bm25 = (times / (times + norms[:, None])) @ rarity / max(float(rarity.sum()), 1e-9)
    features = np.column_stack([_shares(times > 0, pairs, rarity), bm25, np.log1p(lengths) / _LONG])
    return Met(times > 0, pairs, features.astype(np.float32))


def of_papers(found: Met, starts: Numbers, rarity: Floats, bm25: Floats) -> Floats:
    """The features of papers whose sentences begin at `starts`; `bm25` are their scores beside those of the candidates."""
    words, pairs = (np.logical_or.reduceat(part, starts, axis=0) for part in (found.words, found.pairs))
    return np.column_stack([bm25, _shares(words, pairs, rarity)]).astype(np.float32)


def _shares(words: Mask, pairs: Mask, rarity: Floats) -> npt.NDArray[np.float64]:
    """Which share of the question's words, of these by their rarity, and of its pairs of words is held."""
    return np.column_stack(
        [
            words.mean(axis=1) if words.shape[1] else np.zeros(len(words)),
            words @ rarity / max(float(rarity.sum()), 1e-9),
            pairs.mean(axis=1) if pairs.shape[1] else np.zeros(len(pairs)),
        ]
    )
