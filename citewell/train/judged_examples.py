"""Examples for learning to rank from what people said about suggestions.

The query of each judgement is put to the user's library again, and its candidates get the features with which the model
serves. Several judges are combined by majority: a paper is relevant to a query if more judges marked it relevant than
irrelevant; papers with as many of both, and those marked unclear, are not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from citewell.collection.local import LocalCollection
from citewell.fuse.ltr import LTR
from citewell.judgements import JudgedText, Judgement, latest
from citewell.library.library import Library
from citewell.papers import Query
from citewell.progress import SILENT, Progress
from citewell.ranking.request import Request
from citewell.train.ltr import Examples
from citewell.types import Mask

MODEL_TASKS = {"evidence": "local"}
"""The tasks that another task's model serves."""
_LAST_DAY = 1231


@dataclass(frozen=True)
class CombinedJudgements:
    """The judged papers of one query."""

    query: str
    text: JudgedText
    relevant: tuple[str, ...]
    irrelevant: tuple[str, ...]

    @property
    def draft(self) -> str:
        """What queries of the same draft have in common."""
        return self.text.citing or self.text.title or self.text.abstract or self.query


@dataclass
class JudgedExamples:
    """The candidates of the judged queries of one task."""

    examples: Examples
    """Judged relevant (1) or not (0)."""
    judged: Mask
    """Which candidates somebody judged."""
    drafts: list[str]
    """The draft of each query."""


@dataclass
class Left:
    """What cannot be learned from, and why."""

    unknown: int = 0
    """Judged papers that the library does not have."""
    unreachable: int = 0
    """Judged papers that are not among the candidates."""
    without_relevant: int = 0
    """Queries without a relevant paper among the candidates."""
    in_library: int = 0
    """Queries whose citing paper is in the library with its references, which would give the answer away."""

    def lines(self) -> list[str]:
        """One line for each reason that applies."""
        reasons = [
            (self.in_library, "queries left out: the library has the citing paper and its references, which hold the answers"),
            (self.without_relevant, "queries left out: no paper among their candidates was judged relevant"),
            (self.unknown, "judged papers are not in the library"),
            (self.unreachable, "judged papers are not among the candidates of their queries"),
        ]
        return [f"{count:,} {reason}" for count, reason in reasons if count]


@dataclass
class _Part:
    names: tuple[str, ...] = ()
    rows: list[np.ndarray] = field(default_factory=list)
    labels: list[np.ndarray] = field(default_factory=list)
    judged: list[Mask] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)


def combine(judgements: Iterable[Judgement]) -> list[CombinedJudgements]:
    """The judgements by query, in the order of the queries; queries without a judged paper are left out."""
    votes: dict[str, Counter[str]] = {}
    texts: dict[str, JudgedText] = {}
    for each in latest(judgements):
        balance = votes.setdefault(each.query, Counter())
        if each.mark != "unclear":
            texts.setdefault(each.query, each.text)
            balance[each.paper] += 1 if each.mark == "relevant" else -1
    combined = []
    for query, text in texts.items():
        relevant = tuple(paper for paper, balance in votes[query].items() if balance > 0)
        irrelevant = tuple(paper for paper, balance in votes[query].items() if balance < 0)
        if relevant or irrelevant:
            combined.append(CombinedJudgements(query, text, relevant, irrelevant))
    return combined


def collect_judged(
    queries: list[CombinedJudgements], library: Library, stage: LTR, progress: Progress = SILENT
) -> tuple[dict[str, JudgedExamples], Left]:
    """The candidates of the queries by the task of the model that ranks them, and what had to be left out."""
    collection = LocalCollection(library)
    parts: dict[str, _Part] = {}
    left = Left()
    progress.start("collecting features", len(queries), "queries")
    for judged in queries:
        progress.advance()
        citing = collection.numbers([judged.text.citing] if judged.text.citing else [])
        if collection.degrees("cites", citing).any():
            left.in_library += 1
            continue
        relevant, irrelevant = collection.numbers(judged.relevant), collection.numbers(judged.irrelevant)
        marked = np.concatenate([relevant, irrelevant])
        left.unknown += len(judged.relevant) + len(judged.irrelevant) - len(marked)
        papers, table = stage.candidate_features(Request(collection, _query(judged)))
        left.unreachable += int((~np.isin(marked, papers)).sum())
        labels = np.isin(papers, relevant)
        if not labels.any():
            left.without_relevant += 1
            continue
        task = MODEL_TASKS.get(judged.text.task, judged.text.task)
        part = parts.setdefault(task, _Part(table.names))
        part.rows.append(table.rows.astype(np.float32))
        part.labels.append(labels.astype(np.int8))
        part.judged.append(np.isin(papers, marked))
        part.drafts.append(judged.draft)
    progress.finish()
    return {task: _joined(part) for task, part in parts.items()}, left


def _joined(part: _Part) -> JudgedExamples:
    sizes = np.array([len(labels) for labels in part.labels])
    examples = Examples(part.names, np.concatenate(part.rows), np.concatenate(part.labels), sizes)
    return JudgedExamples(examples, np.concatenate(part.judged), part.drafts)


def _query(judged: CombinedJudgements) -> Query:
    """The query as the judges saw it. What they marked is not among the draft's known papers: that would tell the answer."""
    text = judged.text
    marked = {*judged.relevant, *judged.irrelevant}
    return Query(
        text.task,
        text.title,
        text.abstract,
        text.context or text.topic or text.question,
        list(text.authors),
        before=_year_before(text.before),
        exclude=[text.citing] if text.citing else [],
        known=[paper for paper in text.known if paper not in marked],
    )


def _year_before(date: int) -> int | None:
    """The year before which papers count, for a date (yyyymmdd) before which they do; a part of a year counts whole."""
    if not date:
        return None
    year, day = divmod(date, 10_000)
    return year if day <= 101 else year + 1
