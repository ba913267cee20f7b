"""Suggestions, search and related papers."""

from __future__ import annotations

import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from citewell import serialize
from citewell.arrays import DamagedFileError
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import TARGET_MARK, Query, Reason
from citewell.pipeline.registry import pipeline
from citewell.serve.errors import ApiError
from citewell.serve.handlers import Parameters


def suggest(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The output of ``citewell suggest --json`` for one query."""
    query = Query(
        parameters["task"] or ("local" if parameters["context"] else "global"),
        parameters["title"],
        parameters["abstract"],
        parameters["context"].replace("[?]", TARGET_MARK),
        parameters["authors"],
        exclude=parameters["exclude"],
        known=parameters["known"],
        only_new=parameters["only_new"],
        **_filters(parameters),
    )
    if not query.text().strip():
        raise ApiError(422, 'The query is empty; send a "title", an "abstract" or a "context".')
    with _pipeline_errors(parameters["pipeline"]):
        return serialize.results(pipeline(parameters["pipeline"]).suggest(library, query, parameters["k"]))


def search(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The output of ``citewell search --json``."""
    query = Query("evidence", context=parameters["question"], exclude=parameters["exclude"], **_filters(parameters))
    with _pipeline_errors(parameters["pipeline"]):
        results = pipeline(parameters["pipeline"]).suggest(library, query, parameters["k"], parameters["sentences"])
        return serialize.results(results)


def related(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """The papers most similar to one; a reason marks those that cite it or that it cites."""
    num = paper_number(library, parameters["id"])
    paper = library.store.papers([num])[num]
    query = Query("global", paper.title, paper.abstract, authors=[*map(str, paper.authors)], exclude=[paper.id])
    references = {id for reference in library.store.whole(num).references for id in reference.ids}
    citing = {other.id for other in library.store.papers(library.store.cited_by(num)).values()}
    if not query.text().strip():
        return {"id": paper.id, "notes": [], "suggestions": []}
    with _pipeline_errors(parameters["pipeline"]):
        results = pipeline(parameters["pipeline"]).suggest(library, query, parameters["k"])
    for each in results:
        links = [("Cites this paper.", citing), ("Cited by this paper.", references)]
        each.reasons[:0] = [Reason("link", text, [paper.id]) for text, linked in links if each.paper.id in linked]
    return {"id": paper.id, "notes": results.notes, "suggestions": [serialize.suggestion(each) for each in results]}


def warm_up(library: Library, parameters: Parameters, body: bytes = b"") -> object:
    """Load what a pipeline needs, so that the first request does not have to."""
    from citewell.library.index import scoring
    from citewell.library.vectors import search as scanning

    scoring.load_compiled()
    scanning.load_compiled()
    pipeline(parameters["pipeline"]).suggest(library, Query("local", "a title", "An abstract.", f"words {TARGET_MARK}."), 5)
    return {}


def paper_number(library: Library, name: str) -> int:
    """The number of the paper with an id or citation key."""
    num = library.store.find(name)
    if num is None:
        raise ApiError(404, f"The library has no paper {name!r}; POST /api/search finds papers by their text.")
    return num


@contextmanager
def _pipeline_errors(name: str) -> Iterator[None]:
    """Report an unexpected exception in a stage, which may be a plugin's, as one line; the log gets the traceback."""
    try:
        yield
    except (ApiError, CitewellError, DamagedFileError, MemoryError, OSError, sqlite3.Error):
        raise
    except Exception as error:
        traceback.print_exc()
        detail = f"The pipeline {name!r} failed ({type(error).__name__}); the server's log has the details."
        raise ApiError(500, detail) from None


def _filters(parameters: Parameters) -> dict[str, Any]:
    return {"since": parameters["since"], "before": parameters["before"], "venue": parameters["venue"]}
