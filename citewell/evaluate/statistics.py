"""The statistics of a set, as papers report them: how much there is, how long it is, and what each split asks.

Queries are counted by asking for them, so that the figures are those of the evaluation; training years are counted by the same
rules. Counting needs no texts: `_Bare` leaves them out, so that memory goes by how many questions there are, not how long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from citewell.errors import CitewellError
from citewell.evaluate.queries import Question, questions
from citewell.evaluate.sets import DataSet, Paragraph, Split
from citewell.evaluate.strict import Timeline, when
from citewell.papers import Context, Paper

PARTS = ("train", "dev", "test")


@dataclass
class Part:
    """One split: its citing papers, and for each task its queries and the papers that they want in all."""

    years: tuple[int, ...] = ()
    """First and last."""
    citing: int = 0
    queries: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)


@dataclass
class Statistics:
    """A set in figures; means are 0 where there is nothing to take them of."""

    name: str
    tasks: tuple[str, ...]
    documents: int = 0
    with_abstract: int = 0
    years: tuple[int, ...] = ()
    """First and last; empty where no document has one."""
    citing: int = 0
    """Documents that cite another one of the set which is not later."""
    citations: int = 0
    """Of documents of the set by such."""
    later_citations: int = 0
    """Of documents that are later than the citing one or have no year; no query wants them."""
    citations_per_citing: float = 0.0
    title_words: float = 0.0
    abstract_words: float = 0.0
    """Of the abstracts that there are."""
    document_words: float = 0.0
    """Title and abstract, of all documents."""
    contexts: int = 0
    context_words: float = 0.0
    """The marks of citations count as words."""
    paragraphs: int = 0
    splits: dict[str, Part] = field(default_factory=lambda: {part: Part() for part in PARTS})
    problems: dict[str, int] = field(default_factory=dict)
    """How many lines of which file could not be read."""


def statistics(folder: Path) -> Statistics:
    """Count what the set in `folder` holds and asks."""
    dataset = DataSet.open(folder)
    found = Statistics(dataset.name, dataset.tasks)
    years = _measure_papers(found, dataset)
    _measure_contexts(found, dataset)
    found.paragraphs = sum(1 for _ in dataset.paragraphs())
    by_year = {year: name for year in years if (name := _split(dataset, year))}
    for name, part in found.splits.items():
        part.years = _ends([year for year, its_split in by_year.items() if its_split == name])
        part.queries, part.pairs = dict.fromkeys(dataset.tasks, 0), dict.fromkeys(dataset.tasks, 0)
    timeline = Timeline(_Bare.open(folder), Split("all", frozenset(years), None))
    _count_citations(found, timeline, by_year)
    for task in dataset.tasks:
        if task == "evidence":
            _count_evidence(found, dataset)
            continue
        for question in _asked(timeline, task):
            if name := by_year.get(question.date // 10_000):
                found.splits[name].queries[task] += 1
                found.splits[name].pairs[task] += len(question.wanted)
    found.problems = dict(dataset.problems)
    return found


def write(found: Statistics, path: Path) -> None:
    """The statistics as a JSON file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")


class _Bare(DataSet):
    """A set without its texts."""

    def papers(self, distractors: bool = False) -> Iterator[Paper]:
        for paper in super().papers(distractors):
            yield replace(paper, abstract="", authors=[], venue="", keywords=[], sentences=[], extra={})

    def contexts(self) -> Iterator[Context]:
        return (replace(context, text="", section="") for context in super().contexts())

    def paragraphs(self) -> Iterator[Paragraph]:
        return (msgspec.structs.replace(paragraph, topic_sentence="") for paragraph in super().paragraphs())


def _measure_papers(found: Statistics, dataset: DataSet) -> list[int]:
    """Count documents and words; returns the years in order."""
    years: set[int] = set()
    in_titles = in_abstracts = 0
    for paper in dataset.papers():
        found.documents += 1
        found.with_abstract += bool(paper.abstract)
        in_titles += len(paper.title.split())
        in_abstracts += len(paper.abstract.split())
        if paper.year is not None:
            years.add(paper.year)
    found.years = _ends(years)
    found.title_words = _mean(in_titles, found.documents)
    found.abstract_words = _mean(in_abstracts, found.with_abstract)
    found.document_words = _mean(in_titles + in_abstracts, found.documents)
    return sorted(years)


def _measure_contexts(found: Statistics, dataset: DataSet) -> None:
    words = 0
    for context in dataset.contexts():
        found.contexts += 1
        words += len(context.text.split())
    found.context_words = _mean(words, found.contexts)


def _count_citations(found: Statistics, timeline: Timeline, by_year: dict[int, str]) -> None:
    for paper in {id(paper): paper for paper in timeline.citing.values()}.values():
        named = (next((name for name in each.ids if name in timeline.dates), "") for each in paper.references)
        within = set(named) - {"", *paper.ids}
        true = timeline.backwards(when(paper), within)
        found.citations += len(true)
        found.later_citations += len(within) - len(true)
        if true:
            found.citing += 1
            if name := by_year.get(paper.year or 0):
                found.splits[name].citing += 1
    found.citations_per_citing = _mean(found.citations, found.citing)


def _count_evidence(found: Statistics, dataset: DataSet) -> None:
    for asked in dataset.evidence():
        if part := found.splits.get(asked.split):
            part.queries["evidence"] += 1
            part.pairs["evidence"] += len(asked.documents)


def _asked(timeline: Timeline, task: str) -> list[Question]:
    try:
        return questions(timeline, task)
    except CitewellError:
        # The files have been read before, so this can only say that nothing is asked.
        return []


def _split(dataset: DataSet, year: int) -> str | None:
    """The split to which the citing papers of a year belong."""
    if dataset.train_until is not None and year <= dataset.train_until:
        return "train"
    return next((name for name, years in dataset.years.items() if year in years), None)


def _ends(years: set[int] | list[int]) -> tuple[int, ...]:
    return (min(years), max(years)) if years else ()


def _mean(total: int, count: int) -> float:
    return round(total / count, 2) if count else 0.0
