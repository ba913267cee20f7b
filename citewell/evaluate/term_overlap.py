"""Term overlap (Nogueira et al. 2020): the share of a candidate's terms that the query contains, as a mean over the top k.

``Overlap@1000`` shows how far retrieval goes beyond the terms of the query: the lower, the further. It is a property of a
ranking and needs no judgements. Each term counts once, as a stem, without stop words.
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
    """Whether this is the name of an overlap measure."""
    return _NAME.fullmatch(measure) is not None


def overlap(measure: str, library: Library, query: Query, papers: Sequence[int]) -> float:
    """The mean overlap of the top papers of a ranking with the query; NaN for an empty ranking."""
    top = list(papers[: int(measure.partition("@")[2])])
    query_terms = _terms(query.text())
    records = library.store.papers(top)
    of_papers = (_terms(f"{records[num].title}\n{records[num].abstract}") for num in top)
    shares = [len(each & query_terms) / len(each) for each in of_papers if each]
    return sum(shares) / len(shares) if shares else float("nan")


@lru_cache(maxsize=100_000)
def _terms(text: str) -> frozenset[int]:
    return frozenset(terms(text))
