"""What is found, as the JSON that commands print with ``--json`` and the server sends: one place, so that both say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import Paper, Query, Suggestion
from citewell.pipeline.pipeline import definitions, pipeline
from citewell.ranking.sentences import Found


def brief(paper: Paper) -> dict[str, Any]:
    """What is said of every paper in a list."""
    return {"id": paper.id, "title": paper.title, "authors": paper.authors, "year": paper.year, "venue": paper.venue}


def of_suggestions(query: Query, suggestions: Sequence[Suggestion]) -> dict[str, Any]:
    """What ``suggest`` says of one query."""
    return {
        "task": query.task,
        "query": {"title": query.title, "abstract": query.abstract, "context": query.context},
        "suggestions": [of_suggestion(each) for each in suggestions],
    }


def of_suggestion(found: Suggestion) -> dict[str, Any]:
    return {"rank": found.rank, **brief(found.paper), "score": found.score, "reasons": found.reasons}


def of_search(question: str, found: Sequence[Found]) -> dict[str, Any]:
    """What ``search`` says."""
    papers = [{"rank": rank, **brief(f.paper), "score": f.score, "sentences": f.passages} for rank, f in enumerate(found, 1)]
    return {"query": question, "papers": papers}


def of_paper(library: Library, num: int) -> dict[str, Any]:
    """What ``show`` says: the whole record, and which papers cite it."""
    citing = library.store.papers(library.store.cited_by(num))
    return {**asdict(library.store.whole(num)), "cited_by": [brief(other) for other in citing.values()]}


def of_library(library: Library) -> dict[str, Any]:
    """What ``library info`` says."""
    from citewell.library.trained_models import trained_models
    from citewell.library.vectors.status import standings

    return {**library.info(), "vectors": standings(library), "models": trained_models(library)}


def of_pipelines() -> list[dict[str, Any]]:
    """What ``pipelines`` says: each with the weights that it would need and that are not there."""
    return [{"name": name, **definition, "lacks": _lacks(name)} for name, definition in definitions().items()]


def _lacks(name: str) -> list[str]:
    try:
        return pipeline(name).lacks()
    except CitewellError as error:  # one of the user's own
        return [str(error)]
