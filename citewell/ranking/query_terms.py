"""The terms of a query and how much each counts: of its whole text or a part, its key terms or its authors, or by position.

By position means: a word near the gap counts more than one further away, and a word of the citing title less than both. How
much was tuned on the dev years of our data sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from citewell.errors import CitewellError
from citewell.papers import TARGET_MARK, Query
from citewell.ranking.request import Request
from citewell.text.analysis import terms
from citewell.text.author_terms import author_terms
from citewell.text.idf import by_word, idf
from citewell.text.key_terms import key_terms
from citewell.text.names import parse_all
from citewell.types import Float64Array, IntArray

FORMS = ("text", "context", "proximity", "title", "key terms", "key terms by part", "with bibliography", "authors")

_OF_TITLE, _OF_ABSTRACT = 3, 5
"""How many key terms Citeomatic takes of a title, and of an abstract: as many as Whoosh does by default."""

_DECAY = 10.0
"""The distance, in words, over which the weight of a word falls by a factor of e towards `_FAR`."""
_FAR = 0.15
_TITLE = 0.45

QueryTerms = dict[int, tuple[str, float]]
"""Term hash to the word as the query has it, and its weight: how often it occurs, or its weight by position."""


def query_terms(request: Request, form: str, size: int = 0) -> QueryTerms:
    """The terms to search for; `size` limits the number of key terms."""
    query = request.query
    match form:
        case "text":
            return request.terms(query.text())
        case "context":
            return request.terms(query.context or query.text())
        case "proximity":
            return _by_proximity(request)
        case "title":
            return request.terms(query.title or query.text())
        case "key terms":
            return key_terms(request.terms(query.text()), _Frequencies(request), size)
        case "key terms by part":
            parts = ((query.title, _OF_TITLE), (query.abstract, _OF_ABSTRACT))
            chosen = [key_terms(request.terms(part), _Frequencies(request), most) for part, most in parts if part]
            return chosen[0] | chosen[-1] if chosen else request.terms(query.text())
        case "with bibliography":
            titles = [paper.title for paper in request.collection.records(request.known).values()]
            return request.terms("\n".join((query.text(), *titles)))
        case "authors":
            return _author_terms(query.authors)
    raise CitewellError(f"A query has no form {form!r}. Choose one of {', '.join(FORMS)}.")


def word_numbers(request: Request, words: Sequence[str]) -> IntArray | None:
    """Which word each term of a query is of; None in a library of one language, where every term is of a word of its own."""
    return np.unique(words, return_inverse=True)[1] if len(request.collection.languages) > 1 and words else None


def term_weights(request: Request, field: str, terms: QueryTerms) -> dict[int, float]:
    """The weight of each term by its idf in a field."""
    hashes = np.array(sorted(terms), np.int64)
    hidden = request.hidden.tolist()
    texts, _ = request.collection.field_statistics(field, hidden)
    frequencies = request.collection.document_frequencies(field, hashes, hidden)
    frequencies = by_word(frequencies, word_numbers(request, [terms[term][0] for term in hashes.tolist()]))
    weights = idf(texts, frequencies) * [terms[term][1] for term in hashes.tolist()]
    return dict(zip(hashes.tolist(), weights.tolist(), strict=True))


def words_by_proximity(query: Query) -> list[tuple[str, float]]:
    """The words of the context and the weight of each by its distance from the gap; 1 for all where there is no gap."""
    words = query.context.split()
    gap = next((at for at, word in enumerate(words) if TARGET_MARK in word), None)
    if gap is None:
        return [(word, 1.0) for word in words]
    return list(zip(words, proximity(np.arange(len(words)) - gap).tolist(), strict=True))


def proximity(distances: IntArray) -> Float64Array:
    """The weight of words at these distances, in words, from a gap."""
    return np.asarray(_FAR + (1 - _FAR) * np.exp(-np.abs(distances) / _DECAY), np.float64)


class _Frequencies:
    """How often the collection uses terms, as `key_terms` asks for it."""

    def __init__(self, request: Request) -> None:
        self._collection, self._hidden = request.collection, request.hidden.tolist()

    def occurrences(self, field: str, hashes: IntArray) -> IntArray:
        return self._collection.collection_frequencies(field, hashes, self._hidden)

    def totals(self, name: str) -> tuple[int, float]:
        return self._collection.field_statistics(name, self._hidden)


def _by_proximity(request: Request) -> QueryTerms:
    """A local query by distance from its gap; any other query unchanged."""
    query = request.query
    if query.task != "local" or TARGET_MARK not in query.context:
        return request.terms(query.text())
    weighted: QueryTerms = {}
    for word, weight in words_by_proximity(query):
        _add(weighted, request.terms(word), weight)
    _add(weighted, request.terms(query.title), _TITLE)
    return weighted


def _add(weighted: QueryTerms, counted: QueryTerms, weight: float) -> None:
    for term, (word, count) in counted.items():
        first, before = weighted.get(term, (word, 0.0))
        weighted[term] = first, before + count * weight


def _author_terms(authors: Iterable[str]) -> QueryTerms:
    """The index terms of authors, each with the name as the query has it."""
    return {term: (str(author), 1.0) for author in parse_all(authors) for term in terms(" ".join(author_terms(author)))}
