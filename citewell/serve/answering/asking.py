"""Suggestions, search, and what is related to a paper."""

from __future__ import annotations

from typing import Any

from citewell.library.library import Library
from citewell.papers import TARGET_MARK, Query, Reason
from citewell.pipeline.pipeline import pipeline
from citewell.serialize import of_search, of_suggestion, of_suggestions
from citewell.serve.answering import Given
from citewell.serve.messages import RefusedError


def suggest(library: Library, given: Given, attached: bytes = b"") -> object:
    """What ``citewell suggest --json`` says of one query."""
    query = Query(
        given["task"] or ("local" if given["context"] else "global"),
        given["title"],
        given["abstract"],
        given["context"].replace("[?]", TARGET_MARK),
        given["authors"],
        exclude=given["exclude"],
        known=given["known"],
        only_new=given["only_new"],
        **_filters(given),
    )
    if not query.text().strip():
        raise RefusedError(422, 'say what you are writing: give a "title", an "abstract" or a "context"')
    return of_suggestions(query, pipeline(given["pipeline"]).suggest(library, query, given["k"]))


def search(library: Library, given: Given, attached: bytes = b"") -> object:
    """What ``citewell search --json`` says."""
    query = Query("evidence", context=given["question"], exclude=given["exclude"], **_filters(given))
    found = pipeline(given["pipeline"]).search(library, query, given["k"], given["snippets"])
    return of_search(given["question"], found)


def related(library: Library, given: Given, attached: bytes = b"") -> object:
    """The papers nearest to one; of those that cite it, or that it cites, a reason says so."""
    num = numbered(library, given["id"])
    paper = library.store.papers([num])[num]
    query = Query("global", paper.title, paper.abstract, authors=paper.authors, exclude=[paper.id])
    cites = {name for reference in library.store.whole(num).references for name in reference.ids}
    cited_by = {other.id for other in library.store.papers(library.store.cited_by(num)).values()}
    suggestions = pipeline(given["pipeline"]).suggest(library, query, given["k"]) if query.text().strip() else []
    for each in suggestions:
        links = [("cites it", cited_by), ("cited by it", cites)]
        each.reasons[:0] = [Reason("link", text, [paper.id]) for text, linked in links if each.paper.id in linked]
    return {"id": paper.id, "suggestions": [of_suggestion(each) for each in suggestions]}


def warm_up(library: Library, given: Given, attached: bytes = b"") -> object:
    """Load what answers by a pipeline need, as a first answer does."""
    from citewell.library.index import scoring
    from citewell.library.vectors import search as scanning

    scoring.load_compiled()
    scanning.load_compiled()
    pipeline(given["pipeline"]).suggest(library, Query("local", "a title", "An abstract.", f"words {TARGET_MARK}."), 5)
    return {}


def numbered(library: Library, name: str) -> int:
    """The number of the paper that goes by a name."""
    found = library.store.find(name)
    if found is None:
        raise RefusedError(404, f"no paper is called {name!r} here; 'search' finds papers by their words")
    return found


def _filters(given: Given) -> dict[str, Any]:
    return {"since": given["since"], "before": given["before"], "venue": given["venue"]}
