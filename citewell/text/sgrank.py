"""Key terms of one or more words, in the way of SGRank (Danesh, Sumner and Martin 2015).

Runs of words without stop words or punctuation give the candidates. A candidate weighs as much as it occurs and is rare, less
what belongs to longer candidates that hold it, times how early it stands and how long it is. The weighed candidates form a
graph whose links are the stronger the nearer two stand to one another, and are ranked by a walk over it, as pages are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from citewell.text.analysis import Vocabulary, tokens

Floats = npt.NDArray[np.float64]
Term = tuple[int, ...]
"""A key term by the numbers of its words."""

_BREAK = re.compile(r"[^\w\s'\u2019-]+")
_KEPT = 100
"""So many of the heaviest candidates are ranked."""
_STAYS, _ROUNDS = 0.85, 30


def runs(text: str, vocabulary: Vocabulary) -> list[list[int]]:
    """The words of a text by number, cut where a stop word or a punctuation mark stands."""
    found: list[list[int]] = []
    for piece in _BREAK.split(text):
        here: list[int] = []
        for number in map(vocabulary.number, tokens(piece)):
            if number:
                here.append(number)
            elif here:
                found.append(here)
                here = []
        if here:
            found.append(here)
    return found


def key_terms(text: Sequence[Sequence[int]], rarity: Callable[[int], float], size: int, longest: int = 3) -> list[Term]:
    """The `size` best terms of a text's runs, best first; `rarity` is the idf of a word."""
    places = _candidates(text, longest)
    weights = _weights(places, rarity, sum(map(len, text)))
    heaviest = sorted(weights, key=lambda term: (-weights[term], term))[:_KEPT]
    if not heaviest:
        return []
    ranks = _ranks([places[term] for term in heaviest], np.array([weights[term] for term in heaviest]))
    return [heaviest[at] for at in np.argsort(-ranks, kind="stable")[:size]]


def _candidates(text: Sequence[Sequence[int]], longest: int) -> dict[Term, list[int]]:
    """Every row of up to `longest` words within a run, and where it stands."""
    places: defaultdict[Term, list[int]] = defaultdict(list)
    start = 0
    for run in text:
        for at in range(len(run)):
            for size in range(1, min(longest, len(run) - at) + 1):
                places[tuple(run[at : at + size])].append(start + at)
        start += len(run)
    return places


def _weights(places: dict[Term, list[int]], rarity: Callable[[int], float], length: int) -> dict[Term, float]:
    """What the candidates weigh, without those that weigh nothing."""
    held: defaultdict[Term, int] = defaultdict(int)
    for term, here in places.items():
        for size in range(1, len(term)):
            for part in {term[at : at + size] for at in range(len(term) - size + 1)}:
                held[part] += len(here)
    weights = {}
    for term, here in places.items():
        says = len(here) * sum(map(rarity, term)) / len(term) - held[term]
        if says > 0:
            weights[term] = says * float(np.log2(1 + length / (1 + here[0]))) * len(term) ** 0.5
    return weights


def _ranks(places: Sequence[Sequence[int]], weights: Floats) -> Floats:
    """How often a walk over the candidates comes to each."""
    owners = np.repeat(np.arange(len(places)), [len(here) for here in places])
    stands = np.concatenate([np.asarray(here) for here in places])
    window = 1 + int(stands.max())
    near = np.log2(1 + window / np.maximum(1, np.abs(stands[:, None] - stands[None])))
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    sums = np.add.reduceat(np.add.reduceat(near, starts, axis=0), starts, axis=1)
    times = np.array([len(here) for here in places], np.float64)
    links = sums / np.outer(times, times) * np.outer(weights, weights)
    np.fill_diagonal(links, 0.0)
    total = links.sum(axis=1, keepdims=True)
    if not total.any():  # one candidate alone
        return weights
    steps = links / np.where(total > 0, total, 1.0)
    ranks = np.full(len(places), 1 / len(places))
    for _ in range(_ROUNDS):
        ranks = (1 - _STAYS) / len(places) + _STAYS * ranks @ steps
    return ranks
