"""Where each judge stands: the marks for each context, and which contexts are done, skipped or begun."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from citewell.judgements import Mark, Reason, Record, Unjudged
from citewell.user_study.log import in_order
from citewell.user_study.study import StudyContext

Status = Literal["open", "begun", "done", "skipped", "insufficient"]


@dataclass
class Answers:
    """What one judge said about one context."""

    marks: dict[str, Mark] = field(default_factory=dict)
    unjudged: Reason | None = None
    """Set while the judge's last word is that the context was skipped or does not suffice."""

    def status(self, context: StudyContext) -> Status:
        """A context is done when every suggested paper is marked."""
        if self.unjudged is not None:
            return self.unjudged
        papers = context.papers()
        marked = sum(paper in self.marks for paper in papers)
        return "done" if papers and marked == len(papers) else "begun" if marked else "open"


ByContext = Mapping[str, Answers]


def answers(records: Iterable[Record]) -> dict[str, dict[str, Answers]]:
    """Judge to context to answers; a later record replaces an earlier one, and a mark takes back that a context was skipped."""
    by_judge: dict[str, dict[str, Answers]] = defaultdict(lambda: defaultdict(Answers))
    for record in in_order(records):
        answer = by_judge[record.judge][record.query]
        if isinstance(record, Unjudged):
            answer.unjudged = record.unjudged
        else:
            answer.marks[record.paper] = record.mark
            answer.unjudged = None
    return {judge: dict(by_context) for judge, by_context in by_judge.items()}


def status(by_context: ByContext, context: StudyContext) -> Status:
    """The status of a context for one judge."""
    return by_context.get(context.id, Answers()).status(context)


def same_judge(name: str, judges: Iterable[str]) -> str:
    """The spelling of a name among known judges, or the name itself: "Ana " is "ana"."""
    clean = " ".join(name.split())
    return next((judge for judge in judges if judge.casefold() == clean.casefold()), clean)
