"""``suggest``, ``search`` and ``prepare``: one call each."""

from __future__ import annotations

from citewell.library.library import Library
from citewell.papers import Query
from citewell.pipeline.contract import Stage
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import DEFAULT, as_pipeline
from citewell.pipeline.results import Results
from citewell.progress import SILENT, Progress


def suggest(library: Library, query: str | Query, pipeline: str | Pipeline | Stage = DEFAULT, k: int = 10) -> Results:
    """What to cite: the `k` best papers of the library.

    A string is the text around a missing citation; a `Query` says more. The pipeline is a name, or stages in a row such as
    ``BM25(k1=1.5) >> Rerank("citewell-cross", depth=50)``.
    """
    if isinstance(query, str):
        query = Query("local", context=query)
    return as_pipeline(pipeline).suggest(library, query, k)


def search(
    library: Library, query: str | Query, pipeline: str | Pipeline | Stage = DEFAULT, k: int = 10, sentences: int = 2
) -> Results:
    """Papers that answer a question or bear on a claim, each with its best `sentences`."""
    if isinstance(query, str):
        query = Query("evidence", context=query)
    return as_pipeline(pipeline).suggest(library, query, k, sentences)


def prepare(library: Library, pipeline: str | Pipeline | Stage = DEFAULT, progress: Progress = SILENT) -> None:
    """Compute what a pipeline needs in addition to the index: vectors, where papers lack them."""
    as_pipeline(pipeline).prepare(library, progress=progress)
