"""The statistics of a set, as papers report them: its size, the length of its texts, and the queries of each split.

Queries are counted as the evaluation makes them, so the figures agree with it; training years follow the same
rules. Counting needs no texts: `_WithoutTexts` drops them, so memory depends on the number of queries, not on their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from citewell.errors import CitewellError
from citewell.evaluate.queries import JudgedQuery, judged_queries
from citewell.evaluate.sets import DataSet, Paragraph, Split
from citewell.evaluate.strict import Timeline, when
from citewell.papers import Context, Paper

PARTS = ("train", "dev", "test")


@dataclass
class Part:
    """One split: its citing papers, and for each task its queries and the pairs of a query and a relevant paper."""

    years: tuple[int, ...] = ()
    """First and last."""
    citing: int = 0
    queries: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)


@dataclass
class Statistics:
    """The figures of a set; the mean of nothing is 0."""

    name: str
    tasks: tuple[str, ...]
    documents: int = 0
    with_abstract: int = 0
    years: tuple[int, ...] = ()
    """First and last; empty if no document has a year."""
    citing: int = 0
    """Documents that cite another document of the set that is not later."""
    citations: int = 0
    """Citations between documents of the set."""
    later_citations: int = 0
    """Citations of documents that are later than the citing one or have no year; they are not relevant to any query."""
    citations_per_citing: float = 0.0
    title_words: float = 0.0
    abstract_words: float = 0.0
    """Mean over the documents with an abstract."""
    document_words: float = 0.0
    """Title and abstract, mean over all documents."""
    contexts: int = 0
    context_words: float = 0.0
    """Citation marks count as words."""
    paragraphs: int = 0
    splits: dict[str, Part] = field(default_factory=lambda: {part: Part() for part in PARTS})
    problems: dict[str, int] = field(default_factory=dict)
    """File to the number of its lines that could not be read."""


def statistics(folder: Path) -> Statistics:
    """Count the documents, citations and queries of the set in `folder`."""
    dataset = DataSet.open(folder)
    figures = Statistics(dataset.name, dataset.tasks)
    years = _measure_papers(figures, dataset)
    _measure_contexts(figures, dataset)
    figures.paragraphs = sum(1 for _ in dataset.paragraphs())
    by_year = {year: name for year in years if (name := _split(dataset, year))}
    for name, part in figures.splits.items():
        part.years = _ends([year for year, its_split in by_year.items() if its_split == name])
        part.queries, part.pairs = dict.fromkeys(dataset.tasks, 0), dict.fromkeys(dataset.tasks, 0)
    timeline = Timeline(_WithoutTexts.open(folder), Split("all", frozenset(years), None))
    _count_citations(figures, timeline, by_year)
    for task in dataset.tasks:
        if task == "evidence":
            _count_evidence(figures, dataset)
            continue
        for judged in _queries(timeline, task):
            if name := by_year.get(judged.date // 10_000):
                figures.splits[name].queries[task] += 1
                figures.splits[name].pairs[task] += len(judged.relevant)
    figures.problems = dict(dataset.problems)
    return figures


def write(figures: Statistics, path: Path) -> None:
    """Write the statistics to a JSON file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")


class _WithoutTexts(DataSet):
    """A set without its texts."""

    def papers(self, distractors: bool = False) -> Iterator[Paper]:
        for paper in super().papers(distractors):
            yield replace(paper, abstract="", authors=[], venue="", keywords=[], sentences=[], extra={})

    def contexts(self) -> Iterator[Context]:
        return (replace(context, text="", section="") for context in super().contexts())

    def paragraphs(self) -> Iterator[Paragraph]:
        return (msgspec.structs.replace(paragraph, topic_sentence="") for paragraph in super().paragraphs())


def _measure_papers(figures: Statistics, dataset: DataSet) -> list[int]:
    """Count documents and words; returns the years in order."""
    years: set[int] = set()
    in_titles = in_abstracts = 0
    for paper in dataset.papers():
        figures.documents += 1
        figures.with_abstract += bool(paper.abstract)
        in_titles += len(paper.title.split())
        in_abstracts += len(paper.abstract.split())
        if paper.year is not None:
            years.add(paper.year)
    figures.years = _ends(years)
    figures.title_words = _mean(in_titles, figures.documents)
    figures.abstract_words = _mean(in_abstracts, figures.with_abstract)
    figures.document_words = _mean(in_titles + in_abstracts, figures.documents)
    return sorted(years)


def _measure_contexts(figures: Statistics, dataset: DataSet) -> None:
    words = 0
    for context in dataset.contexts():
        figures.contexts += 1
        words += len(context.text.split())
    figures.context_words = _mean(words, figures.contexts)


def _count_citations(figures: Statistics, timeline: Timeline, by_year: dict[int, str]) -> None:
    for paper in {id(paper): paper for paper in timeline.citing.values()}.values():
        named = (next((name for name in each.ids if name in timeline.dates), "") for each in paper.references)
        within = set(named) - {"", *paper.ids}
        true = timeline.backwards(when(paper), within)
        figures.citations += len(true)
        figures.later_citations += len(within) - len(true)
        if true:
            figures.citing += 1
            if name := by_year.get(paper.year or 0):
                figures.splits[name].citing += 1
    figures.citations_per_citing = _mean(figures.citations, figures.citing)


def _count_evidence(figures: Statistics, dataset: DataSet) -> None:
    for record in dataset.evidence():
        if part := figures.splits.get(record.split):
            part.queries["evidence"] += 1
            part.pairs["evidence"] += len(record.documents)


def _queries(timeline: Timeline, task: str) -> list[JudgedQuery]:
    try:
        return judged_queries(timeline, task)
    except CitewellError:
        # The files have been read before, so the error can only mean that there are no queries.
        return []


def _split(dataset: DataSet, year: int) -> str | None:
    """The split of the citing papers of a year."""
    if dataset.train_until is not None and year <= dataset.train_until:
        return "train"
    return next((name for name, years in dataset.years.items() if year in years), None)


def _ends(years: set[int] | list[int]) -> tuple[int, ...]:
    return (min(years), max(years)) if years else ()


def _mean(total: int, count: int) -> float:
    return round(total / count, 2) if count else 0.0
