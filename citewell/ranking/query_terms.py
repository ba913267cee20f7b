"""The words of a query and what each counts for: those of its title, its text, its key terms, its authors, or by their place.

By place means: a word in the text round a gap counts the more the nearer to the gap it stands. The place where a citation is
wanted says more about it than the sentence before, and the citing title less than both; how much was tuned on dev years.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.index.collection_stats import CollectionStats
from citewell.papers import TARGET_MARK, Query
from citewell.ranking.request import Request
from citewell.text.analysis import terms
from citewell.text.key_terms import key_terms
from citewell.text.names import author_terms

FORMS = ("text", "near", "title", "key terms", "with bibliography", "authors")

_REACH = 10.0
"""At so many words from the gap what a word counts has fallen to about a third of the way to `_FAR`."""
_FAR = 0.15
_TITLE = 0.45

QueryTerms = dict[int, tuple[str, float]]
"""Term hash to the word as the query has it, and how much it counts: how often it occurs, unless its place tells more."""


def query_terms(request: Request, form: str, size: int) -> QueryTerms:
    """The terms to search for; `size` bounds the number of key terms."""
    query = request.query
    match form:
        case "text":
            return terms(query.text())
        case "near":
            return _near(query)
        case "title":
            return terms(query.title or query.text())
        case "key terms":
            return key_terms(terms(query.text()), CollectionStats(request.library.index, request.excluded), size)
        case "with bibliography":
            return terms("\n".join((query.text(), *_known_titles(request))))
        case "authors":
            return _names(query.authors)
    raise CitewellError(f"a query has no form {form!r}; choose one of {', '.join(FORMS)}")


def placed_words(query: Query) -> list[tuple[str, float]]:
    """The words of the text round a gap and what each counts by its distance from it; all the same where there is no gap."""
    words = query.context.split()
    gap = next((at for at, word in enumerate(words) if TARGET_MARK in word), None)
    if gap is None:
        return [(word, 1.0) for word in words]
    return list(zip(words, nearness(np.arange(len(words)) - gap).tolist(), strict=True))


def nearness(distances: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """What words count at so many words from a gap."""
    return np.asarray(_FAR + (1 - _FAR) * np.exp(-np.abs(distances) / _REACH), np.float64)


def _near(query: Query) -> QueryTerms:
    """A local query by distance from its gap; any other as it is."""
    if query.task != "local" or TARGET_MARK not in query.context:
        return terms(query.text())
    found: dict[int, tuple[str, float]] = {}
    for word, weight in placed_words(query):
        _count(found, word, weight)
    _count(found, query.title, _TITLE)
    return found


def _count(found: QueryTerms, text: str, weight: float) -> None:
    for term, (word, times) in terms(text).items():
        first, before = found.get(term, (word, 0.0))
        found[term] = first, before + times * weight


def _names(authors: Iterable[str]) -> QueryTerms:
    """What authors can be found by, each with the name as it is written."""
    return {
        term: (name.strip(), 1.0)
        for author in authors
        for name in author.split(";")
        for term in terms(" ".join(author_terms(name)))
    }


def _known_titles(request: Request) -> list[str]:
    """The titles of what the draft cites elsewhere."""
    return [paper.title for paper in request.library.store.papers(request.known().tolist()).values()]
