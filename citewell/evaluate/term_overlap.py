"""Term overlap (Nogueira et al. 2020): the share of a candidate's words that the query has too, as a mean over the best.

``Overlap@1000`` says how far a way of finding candidates goes beyond the words of the query: the lower, the further. It is
measured of a ranking, not against right answers. Words are counted once each, by their stems and without stop words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from citewell.library import Library
from citewell.papers import Query
from citewell.text.analysis import terms

_NAME = re.compile(r"Overlap@([1-9]\d*)")


def is_overlap(measure: str) -> bool:
    """Whether a measure is one of these."""
    return _NAME.fullmatch(measure) is not None


def overlap(measure: str, library: Library, query: Query, papers: Sequence[int]) -> float:
    """The mean overlap of the best papers of a ranking with the query; NaN for an empty one."""
    best = list(papers[: int(measure.partition("@")[2])])
    asked = _words(query.text())
    found = library.store.papers(best)
    shares = [
        len(words & asked) / len(words) for num in best if (words := _words(f"{found[num].title}\n{found[num].abstract}"))
    ]
    return sum(shares) / len(shares) if shares else float("nan")


@lru_cache(maxsize=100_000)
def _words(text: str) -> frozenset[int]:
    return frozenset(terms(text))
