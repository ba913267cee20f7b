"""Training pairs: the queries of a set's train years with their relevant papers, built as evaluation builds those of dev.

Dev queries are included, to measure during training; test years are never used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from citewell.evaluate.queries import JudgedQuery, judged_queries, sampled
from citewell.evaluate.sets import DataSet, Split
from citewell.evaluate.strict import Timeline, when
from citewell.papers import Paper
from citewell.train.packs import SPLITS

FIRST_YEAR = 1000
DEV_LIMIT = 2000
"""Dev queries per task."""


@dataclass
class Source:
    """One set as training data."""

    name: str
    papers: list[Paper]
    number: dict[str, int]
    """Every id of a paper to its position in `papers`."""
    train_until: int
    """The last year whose links may be used; 0 if the set has no dates."""
    queries: dict[str, dict[str, list[JudgedQuery]]]
    """Split to task to queries."""
    contexts: list[tuple[str, int, list[int]]] = field(default_factory=list)
    """Contexts of the train years: text, year, and the positions of the cited papers."""
    abstracts: list[tuple[str, str]] = field(default_factory=list)
    """Titles with abstracts, of papers up to the train years; they need not be cited."""


def read_source(folder: Path, tasks: Sequence[str] = (), abstracts: int = 0) -> Source:
    """The papers, queries and contexts of a set's train and dev years; `abstracts` titles are queries for their abstracts."""
    dataset = DataSet.open(folder)
    chosen = [task for task in dataset.tasks if not tasks or task in tasks]
    papers = list(dataset.papers())
    number = {name: at for at, paper in enumerate(papers) for name in paper.ids}
    queries: dict[str, dict[str, list[JudgedQuery]]] = {split: {} for split in SPLITS}
    for split in SPLITS:
        timelines: dict[Split, Timeline] = {}
        for task in chosen:
            years = dataset.undated_split(split) if task == "evidence" else _years(dataset, split)
            if years not in timelines:
                timelines[years] = Timeline(dataset, years)
            queries[split][task] = sampled(
                judged_queries(timelines[years], task, needed=False), DEV_LIMIT if split == "dev" else None, seed=0
            )
    until = 0 if chosen == ["evidence"] else _train_until(dataset)
    source = Source(dataset.name, papers, number, until, queries)
    source.contexts = list(_contexts(dataset, source))
    source.abstracts = _abstracts(dataset, until, abstracts)
    return source


def _years(dataset: DataSet, split: str) -> Split:
    if split == "dev":
        return dataset.split("dev")
    until = _train_until(dataset)
    return Split("train", frozenset(range(FIRST_YEAR, until + 1)), until)


def _train_until(dataset: DataSet) -> int:
    until = dataset.split("dev").links_until
    assert until is not None
    return until


def _abstracts(dataset: DataSet, until: int, size: int) -> list[tuple[str, str]]:
    distractors = any(path.name.startswith("distractors") for path in dataset.files())
    papers = (
        (paper.title, paper.abstract)
        for paper in (dataset.papers(distractors) if size else ())
        if paper.title and paper.abstract and (not until or 0 < when(paper) // 10_000 <= until)
    )
    pairs = list(papers)
    chosen = np.random.default_rng(0).choice(len(pairs), min(size, len(pairs)), replace=False) if pairs else ()
    return [pairs[at] for at in sorted(chosen)]


def _contexts(dataset: DataSet, source: Source) -> Iterator[tuple[str, int, list[int]]]:
    for context in dataset.contexts():
        citing = source.number.get(context.citing)
        year = when(source.papers[citing]) // 10_000 if citing is not None else 0
        if 0 < year <= source.train_until:
            cited = {source.number[name] for reference in context.cited for name in reference.ids if name in source.number}
            yield context.text, year, sorted(cited - {citing})
