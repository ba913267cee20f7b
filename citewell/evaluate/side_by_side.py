"""The rankings of several pipelines for one query, side by side. For a query of a set, with what is cited there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citewell import serialize
from citewell.errors import CitewellError
from citewell.evaluate.names import Names
from citewell.evaluate.queries import JudgedQuery, judged_queries, sampled
from citewell.evaluate.set_libraries import SetLibraries, Train
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import Timeline
from citewell.library.library import Library
from citewell.papers import Paper, Query
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.results import Results
from citewell.progress import SILENT, Progress


@dataclass
class SideBySide:
    """One query and the results of each pipeline."""

    query: Query
    results: dict[str, Results]
    """Name of a pipeline to its suggestions."""
    relevant: list[Paper] | None = None
    """What is cited there; None where nobody says."""
    source: dict[str, str] = field(default_factory=dict)
    """The set, the split and the id of the query; empty for a query of a user."""

    def is_relevant(self, paper: Paper) -> bool:
        return self.relevant is not None and any(paper.id == each.id for each in self.relevant)

    def rank(self, pipeline: str, paper: Paper) -> int | None:
        """The rank of a paper in the shown results of a pipeline."""
        return next((each.rank for each in self.results[pipeline] if each.paper.id == paper.id), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "task": self.query.task,
            **self.source,
            "query": serialize.query(self.query),
            "relevant": None if self.relevant is None else [serialize.brief(paper) for paper in self.relevant],
            "pipelines": {
                name: [
                    {"rank": each.rank, **serialize.brief(each.paper), "score": each.score}
                    | ({} if self.relevant is None else {"relevant": self.is_relevant(each.paper)})
                    for each in results
                ]
                for name, results in self.results.items()
            },
        }


def side_by_side(library: Library, query: Query, pipelines: Sequence[Pipeline], k: int = 10) -> SideBySide:
    """The `k` best papers of a library by each pipeline."""
    return SideBySide(query, {each.name: each.suggest(library, query, k, sentences=0) for each in pipelines})


def side_by_side_in_set(
    folder: Path,
    pipelines: Sequence[Pipeline],
    query: str | None = None,
    task: str = "local",
    split: str = "test",
    k: int = 10,
    seed: int = 0,
    progress: Progress = SILENT,
    train: Train | None = None,
) -> SideBySide:
    """The same for the query of a set with this id, by default a random one. It sees what it may see in an evaluation."""
    dataset = DataSet.open(folder)
    timeline = Timeline(dataset, dataset.undated_split(split) if task == "evidence" else dataset.split(split))
    judged = _chosen(judged_queries(timeline, task), query, seed, dataset.name, split)
    libraries = SetLibraries(timeline, progress=progress, train=train)
    with libraries.at([judged.date], pipelines) as opened:
        for library in opened:
            shown = side_by_side(library, judged.query, pipelines, k)
            papers = library.store.papers(numbers := Names(library, libraries.naming).numbers(judged.relevant))
            shown.relevant = [papers[number] for number in numbers]
            shown.source = {"set": dataset.name, "split": split, "id": judged.id}
    return shown


def _chosen(queries: list[JudgedQuery], name: str | None, seed: int, dataset: str, split: str) -> JudgedQuery:
    if name is None:
        return sampled(queries, 1, seed)[0]
    for judged in queries:
        if judged.id == name:
            return judged
    raise CitewellError(
        f"the {split} split of {dataset} has no query {name!r}; its ids are like {queries[0].id!r},"
        " and 'citewell evaluate --out DIR' lists them in queries.jsonl"
    )
