"""Key terms of one or more words by SGRank (Danesh, Sumner and Martin 2015).

Candidates are the n-grams of runs without stop words and punctuation. The weight of a candidate is its tf-idf, minus the
occurrences inside longer candidates, times factors for an early first occurrence and for length. The heaviest candidates form a
graph with edges by proximity, and PageRank orders them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from citewell.text.analysis import Vocabulary, tokens
from citewell.types import Float64Array

Term = tuple[int, ...]
"""A key term by the numbers of its words."""

_BREAK = re.compile(r"[^\w\s'\u2019-]+")
_MAX_CANDIDATES = 100
"""The number of heaviest candidates that are ranked."""
_DAMPING, _ITERATIONS = 0.85, 30


def runs(text: str, vocabulary: Vocabulary) -> list[list[int]]:
    """The words of a text by number, split at stop words and punctuation."""
    word_runs: list[list[int]] = []
    for piece in _BREAK.split(text):
        run: list[int] = []
        for number in map(vocabulary.number, tokens(piece)):
            if number:
                run.append(number)
            elif run:
                word_runs.append(run)
                run = []
        if run:
            word_runs.append(run)
    return word_runs


def key_terms(text: Sequence[Sequence[int]], rarity: Callable[[int], float], size: int, longest: int = 3) -> list[Term]:
    """The `size` best terms of a text's runs, best first; `rarity` is the idf of a word."""
    places = _candidates(text, longest)
    weights = _weights(places, rarity, sum(map(len, text)))
    heaviest = sorted(weights, key=lambda term: (-weights[term], term))[:_MAX_CANDIDATES]
    if not heaviest:
        return []
    ranks = _ranks([places[term] for term in heaviest], np.array([weights[term] for term in heaviest]))
    return [heaviest[at] for at in np.argsort(-ranks, kind="stable")[:size]]


def _candidates(text: Sequence[Sequence[int]], longest: int) -> dict[Term, list[int]]:
    """Every n-gram of up to `longest` words within a run, and its positions."""
    places: defaultdict[Term, list[int]] = defaultdict(list)
    start = 0
    for run in text:
        for at in range(len(run)):
            for size in range(1, min(longest, len(run) - at) + 1):
                places[tuple(run[at : at + size])].append(start + at)
        start += len(run)
    return places


def _weights(places: dict[Term, list[int]], rarity: Callable[[int], float], length: int) -> dict[Term, float]:
    """The weights of the candidates, without those of zero or less."""
    subsumed: defaultdict[Term, int] = defaultdict(int)
    for term, here in places.items():
        for size in range(1, len(term)):
            for part in {term[at : at + size] for at in range(len(term) - size + 1)}:
                subsumed[part] += len(here)
    weights = {}
    for term, here in places.items():
        tf_idf = len(here) * sum(map(rarity, term)) / len(term) - subsumed[term]
        if tf_idf > 0:
            weights[term] = tf_idf * float(np.log2(1 + length / (1 + here[0]))) * len(term) ** 0.5
    return weights


def _ranks(places: Sequence[Sequence[int]], weights: Float64Array) -> Float64Array:
    """The PageRank of each candidate."""
    owners = np.repeat(np.arange(len(places)), [len(here) for here in places])
    positions = np.concatenate([np.asarray(here) for here in places])
    window = 1 + int(positions.max())
    near = np.log2(1 + window / np.maximum(1, np.abs(positions[:, None] - positions[None])))
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    sums = np.add.reduceat(np.add.reduceat(near, starts, axis=0), starts, axis=1)
    times = np.array([len(here) for here in places], np.float64)
    links = sums / np.outer(times, times) * np.outer(weights, weights)
    np.fill_diagonal(links, 0.0)
    total = links.sum(axis=1, keepdims=True)
    if not total.any():  # a single candidate
        return weights
    steps = links / np.where(total > 0, total, 1.0)
    ranks = np.full(len(places), 1 / len(places))
    for _ in range(_ITERATIONS):
        ranks = (1 - _DAMPING) / len(places) + _DAMPING * ranks @ steps
    return ranks
