"""Results as the JSON that commands print with ``--json`` and the server sends."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import Paper, Query, Suggestion
from citewell.pipeline.registry import definitions, pipeline
from citewell.pipeline.results import Results


def brief(paper: Paper) -> dict[str, Any]:
    """What every list says of a paper."""
    return {
        "id": paper.id,
        "title": paper.title,
        "authors": [*map(str, paper.authors)],
        "year": paper.year,
        "venue": paper.venue,
        "doi": doi(paper),
    }


def doi(paper: Paper) -> str | None:
    """The DOI of a paper."""
    return next((name.removeprefix("doi:") for name in paper.ids if name.startswith("doi:")), None)


def results(given: Results) -> dict[str, Any]:
    """The results of one query."""
    return {
        "task": given.query.task,
        "query": query(given.query),
        "notes": given.notes,
        "suggestions": [suggestion(each) for each in given],
    }


def query(given: Query) -> dict[str, Any]:
    return {"title": given.title, "abstract": given.abstract, "context": given.context}


def suggestion(given: Suggestion) -> dict[str, Any]:
    return {
        "rank": given.rank,
        **brief(given.paper),
        "score": given.score,
        "reasons": given.reasons,
        "sentences": given.sentences,
    }


def paper(library: Library, number: int) -> dict[str, Any]:
    """The whole record, which papers cite it, and what each source says of it."""
    from citewell.library.provenance import provenance

    citing = library.store.papers(library.store.cited_by(number))
    whole = library.store.whole(number)
    names = {
        "authors": [*map(str, whole.authors)],
        "people": {role: [*map(str, people)] for role, people in whole.people.items()},
    }
    record = {name: value for name, value in asdict(whole).items() if name != "verbatim"}
    sources = [asdict(each) for each in provenance(library, number)]
    return {**record, **names, "cited_by": [brief(other) for other in citing.values()], "sources": sources}


def library(opened: Library) -> dict[str, Any]:
    """Counts, vectors and trained models of a library."""
    from citewell.library.trained_models import trained_models
    from citewell.library.vectors.status import vector_status

    return {**opened.info(), "vectors": vector_status(opened), "models": trained_models(opened)}


def pipelines() -> list[dict[str, Any]]:
    """Every pipeline, with the weights that it needs and that are not installed."""
    return [{"name": name, **definition, "missing_weights": _missing(name)} for name, definition in definitions().items()]


def _missing(name: str) -> list[str]:
    try:
        return pipeline(name).missing_weights()
    except CitewellError as error:  # a pipeline of the user's own
        return [str(error)]
