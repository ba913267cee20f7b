"""The questions of a set: for each task and split what is asked, and which papers (and sentences) are the right answer.

An answer that the rules of time hide from the query does not count: a citation of a later paper is dropped, and a question
with no answer left is not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.sets import DataSet
from citewell.evaluate.strict import FOREVER, Timeline, query_date, when
from citewell.papers import Paper, Query

FEWEST_REFERENCES = 3
"""A paper is a global query if at least so many of its references are known."""


@dataclass(slots=True)
class Question:
    """One query with its answers, which the query itself does not know."""

    id: str
    query: Query
    wanted: list[str]
    """Canonical ids of the papers that answer it."""
    date: int = FOREVER
    """What came after this (yyyymmdd) must stay unseen."""
    citing: str = ""
    """Canonical id of the paper that asks; it can never be an answer."""
    sentences: dict[str, list[str]] = field(default_factory=dict)
    """Of a wanted paper the sentences that are meant."""
    kind: str = ""
    """Who marked the answers, where a set tells."""
    fewest: int = 1
    """With fewer answers in the library it is not asked."""


def questions(timeline: Timeline, task: str, with_bibliography: bool = False, needed: bool = True) -> list[Question]:
    """Everything that a set asks in one task and split, in the set's order; an error where that is nothing and is `needed`."""
    dataset = timeline.dataset
    if task not in dataset.tasks:
        raise CitewellError(f"the set {dataset.name} has no task {task!r}; it has {', '.join(dataset.tasks)}")
    if with_bibliography and task not in ("local", "paragraph"):
        raise CitewellError(f"--with-bibliography is for the local and the paragraph task, not for the {task} one")
    match task:
        case "global":
            found = list(_global(timeline))
        case "local":
            found = list(_local(timeline))
        case "paragraph":
            found = list(_paragraph(timeline))
        case _:
            found = list(_evidence(dataset, timeline.split.name))
    if not found and needed:
        broken = "".join(f"; {count:,} lines of {file} could not be read" for file, count in dataset.problems.items())
        raise CitewellError(f"the {timeline.split.name} split of {dataset.name} asks nothing in the {task} task{broken}")
    _name_apart(found, task)
    if with_bibliography:
        for question in found:
            question.query.known = _others(timeline, question)
    return found


def _name_apart(found: list[Question], task: str) -> None:
    """Give every question a name of its own."""
    times: Counter[str] = Counter()
    taken: set[str] = set()
    for question in found:
        name = question.id or task
        times[name] += 1
        question.id = name if times[name] == 1 else f"{name}#{times[name]}"
        while question.id in taken:
            times[name] += 1
            question.id = f"{name}#{times[name]}"
        taken.add(question.id)


def sampled(found: list[Question], size: int | None, seed: int) -> list[Question]:
    """`size` of the questions drawn at random, in their order; all of them where there are not more."""
    if size is None or size >= len(found):
        return found
    chosen = np.random.default_rng(seed).choice(len(found), size, replace=False)
    return [found[at] for at in sorted(chosen.tolist())]


def _global(timeline: Timeline) -> Iterator[Question]:
    for paper in {id(paper): paper for paper in timeline.citing.values()}.values():
        wanted = [name for name in timeline.true_references(when(paper), paper.references) if name not in paper.ids]
        if len(wanted) >= FEWEST_REFERENCES:
            question = _asked_by(paper, paper.id or paper.ids[0], "global", "", wanted)
            question.fewest = FEWEST_REFERENCES
            yield question


def _local(timeline: Timeline) -> Iterator[Question]:
    for context in timeline.dataset.contexts():
        if paper := timeline.citing.get(context.citing):
            wanted = timeline.true_references(when(paper), context.cited)
            if wanted := [name for name in wanted if name not in paper.ids]:
                yield _asked_by(paper, context.id, "local", context.text, wanted)


def _paragraph(timeline: Timeline) -> Iterator[Question]:
    naming = timeline.dataset.naming()
    for paragraph in timeline.dataset.paragraphs():
        if paper := timeline.citing.get(naming(str(paragraph.citing))):
            cited = [naming(str(name)) for name in paragraph.cited]
            wanted = [name for name in timeline.backwards(when(paper), cited) if name not in paper.ids]
            if wanted:
                yield _asked_by(paper, str(paragraph.id), "paragraph", paragraph.topic_sentence, wanted)


def _evidence(dataset: DataSet, split: str) -> Iterator[Question]:
    naming = dataset.naming()
    found = [asked for asked in dataset.evidence() if asked.split == split]
    marked = {naming(str(each.paper)) for asked in found for each in asked.snippets or ()}
    texts = {
        name: [sentence.text for sentence in paper.sentences]
        for paper in dataset.papers()
        if not marked.isdisjoint(paper.ids)
        for name in paper.ids
    }
    for asked in found:
        sentences: dict[str, list[str]] = {}
        for each in asked.snippets or ():
            held = texts.get(name := naming(str(each.paper)), [])
            sentences.setdefault(name, []).extend(held[place] for place in each.sentences if 0 <= place < len(held))
        query = Query("evidence", context=asked.question)
        wanted = [naming(str(name)) for name in asked.documents]
        yield Question(str(asked.id), query, wanted, sentences=sentences, kind=asked.kind)


def _asked_by(paper: Paper, name: str, task: str, context: str, wanted: list[str]) -> Question:
    query = Query(task, paper.title, paper.abstract, context, list(paper.authors), exclude=list(paper.ids))
    return Question(name, query, wanted, query_date(when(paper)), paper.ids[0])


def _others(timeline: Timeline, question: Question) -> list[str]:
    """What the asking paper cites besides the answers, as a writer's bibliography would list it."""
    paper = timeline.citing[question.citing]
    wanted = set(question.wanted)
    return [name for name in timeline.true_references(when(paper), paper.references) if name not in wanted]
