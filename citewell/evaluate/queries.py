"""The judged queries of a set: for each task and split the queries, and the papers (and sentences) relevant to each.

A relevant paper that the time rules hide from the query does not count: a citation of a later paper is dropped, and a query
with no relevant paper left is not run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import FOREVER, Timeline, query_date, when
from citewell.papers import Paper, Query
from citewell.text.context_window import cut_context

MIN_REFERENCES = 3
"""A paper is a global query if at least this many of its references are in the set."""


@dataclass(slots=True)
class JudgedQuery:
    """A query and the papers that are relevant to it. The query itself does not contain them."""

    id: str
    query: Query
    relevant: list[str]
    """Canonical ids of the relevant papers."""
    date: int = FOREVER
    """The query must not see anything later than this date (yyyymmdd)."""
    citing: str = ""
    """Canonical id of the citing paper; it is never relevant to its own query."""
    sentences: dict[str, list[str]] = field(default_factory=dict)
    """Relevant paper to the text of its relevant sentences."""
    kind: str = ""
    """Who judged it, where a set says so."""
    min_relevant: int = 1
    """The query is skipped if the library has fewer of its relevant papers than this."""


def judged_queries(timeline: Timeline, task: str, with_bibliography: bool = False, needed: bool = True) -> list[JudgedQuery]:
    """All queries of a set in one task and split, in the set's order. Raises if there are none and `needed` is true."""
    dataset = timeline.dataset
    if task not in dataset.tasks:
        raise CitewellError(f"the set {dataset.name} has no task {task!r}; it has {', '.join(dataset.tasks)}")
    if with_bibliography and task not in ("local", "paragraph"):
        raise CitewellError(f"--with-bibliography works with the local and paragraph tasks, not with {task}")
    match task:
        case "global":
            queries = list(_global(timeline))
        case "local":
            queries = list(_local(timeline))
        case "paragraph":
            queries = list(_paragraph(timeline))
        case _:
            queries = list(_evidence(dataset, timeline.split.name))
    if not queries and needed:
        unread = "".join(f"; {count:,} lines of {file} could not be read" for file, count in dataset.problems.items())
        raise CitewellError(f"the {timeline.split.name} split of {dataset.name} has no queries in the {task} task{unread}")
    _make_ids_unique(queries, task)
    if with_bibliography:
        for judged in queries:
            judged.query.known = _other_references(timeline, judged)
    return queries


def _make_ids_unique(queries: list[JudgedQuery], task: str) -> None:
    """Give every query an id of its own."""
    times: Counter[str] = Counter()
    taken: set[str] = set()
    for judged in queries:
        name = judged.id or task
        times[name] += 1
        judged.id = name if times[name] == 1 else f"{name}#{times[name]}"
        while judged.id in taken:
            times[name] += 1
            judged.id = f"{name}#{times[name]}"
        taken.add(judged.id)


def sampled(queries: list[JudgedQuery], size: int | None, seed: int) -> list[JudgedQuery]:
    """A random sample of `size` queries in their order; all of them if there are no more than that."""
    if size is None or size >= len(queries):
        return queries
    chosen = np.random.default_rng(seed).choice(len(queries), size, replace=False)
    return [queries[at] for at in sorted(chosen.tolist())]


def shortened(judged: JudgedQuery, characters: int) -> JudgedQuery:
    """A query whose context is cut to a number of characters on either side of the citation."""
    return replace(judged, query=replace(judged.query, context=cut_context(judged.query.context, characters)))


def _global(timeline: Timeline) -> Iterator[JudgedQuery]:
    for paper in {id(paper): paper for paper in timeline.citing.values()}.values():
        relevant = [name for name in timeline.true_references(when(paper), paper.references) if name not in paper.ids]
        if len(relevant) >= MIN_REFERENCES:
            judged = _query_of(paper, paper.id or paper.ids[0], "global", "", relevant)
            judged.min_relevant = MIN_REFERENCES
            yield judged


def _local(timeline: Timeline) -> Iterator[JudgedQuery]:
    for context in timeline.dataset.contexts():
        if paper := timeline.citing.get(context.citing):
            relevant = timeline.true_references(when(paper), context.cited)
            if relevant := [name for name in relevant if name not in paper.ids]:
                yield _query_of(paper, context.id, "local", context.text, relevant)


def _paragraph(timeline: Timeline) -> Iterator[JudgedQuery]:
    naming = timeline.dataset.naming()
    for paragraph in timeline.dataset.paragraphs():
        if paper := timeline.citing.get(naming(str(paragraph.citing))):
            cited = [naming(str(name)) for name in paragraph.cited]
            relevant = [name for name in timeline.backwards(when(paper), cited) if name not in paper.ids]
            if relevant:
                yield _query_of(paper, str(paragraph.id), "paragraph", paragraph.topic_sentence, relevant)


def _evidence(dataset: DataSet, split: str) -> Iterator[JudgedQuery]:
    naming = dataset.naming()
    records = [record for record in dataset.evidence() if record.split == split]
    judged = {naming(str(each.paper)) for record in records for each in record.snippets or ()}
    texts = {
        name: [sentence.text for sentence in paper.sentences]
        for paper in dataset.papers()
        if not judged.isdisjoint(paper.ids)
        for name in paper.ids
    }
    for record in records:
        sentences: dict[str, list[str]] = {}
        for each in record.snippets or ():
            here = texts.get(name := naming(str(each.paper)), [])
            sentences.setdefault(name, []).extend(here[place] for place in each.sentences if 0 <= place < len(here))
        query = Query("evidence", context=record.question)
        relevant = [naming(str(name)) for name in record.documents]
        yield JudgedQuery(str(record.id), query, relevant, sentences=sentences, kind=record.kind)


def _query_of(paper: Paper, name: str, task: str, context: str, relevant: list[str]) -> JudgedQuery:
    query = Query(task, paper.title, paper.abstract, context, [*map(str, paper.authors)], exclude=list(paper.ids))
    return JudgedQuery(name, query, relevant, query_date(when(paper)), paper.ids[0])


def _other_references(timeline: Timeline, judged: JudgedQuery) -> list[str]:
    """What the citing paper cites apart from the relevant papers, as its author's bibliography would list it."""
    paper = timeline.citing[judged.citing]
    relevant = set(judged.relevant)
    return [name for name in timeline.true_references(when(paper), paper.references) if name not in relevant]
