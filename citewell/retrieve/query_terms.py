"""The words of a query in one of three forms: its title, its whole text, or the key terms of that text."""

from __future__ import annotations

from citewell.errors import CitewellError
from citewell.library.index import Index
from citewell.papers import Query
from citewell.text.analysis import terms
from citewell.text.key_terms import key_terms

FORMS = ("title", "text", "key terms")

QueryTerms = dict[int, tuple[str, int]]
"""Term hash to the word as the query has it, and how often."""


def query_terms(query: Query, form: str, index: Index, size: int) -> QueryTerms:
    """The terms to search for; `size` bounds the number of key terms."""
    match form:
        case "title":
            return terms(query.title or query.text())
        case "text":
            return terms(query.text())
        case "key terms":
            return key_terms(terms(query.text()), index, size)
    raise CitewellError(f"a query has no form {form!r}; choose one of {', '.join(FORMS)}")
