"""What judges see of a study, and what they say: everything that the API of a study does.

Contexts are known by their number, columns by a letter. The answers of the judges are in the log alone, so that a killed
server loses nothing and several can serve one folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

import msgspec

from citewell.judgements import JudgedText, Judgement, Mark, Reason, Record, Unjudged, encode
from citewell.papers import OTHER_MARK, TARGET_MARK
from citewell.serve.errors import ApiError
from citewell.user_study.blinding import LABELS, column_order
from citewell.user_study.log import Log, judges_of
from citewell.user_study.state import Answers, answers, same_judge, status
from citewell.user_study.study import Study, StudyContext

_MARK = re.compile(rf"\s*({TARGET_MARK}|{OTHER_MARK})")
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Judging:
    """The judges' view of one study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._log = Log(study.judgements)
        self._writing = Lock()

    def about(self) -> dict[str, Any]:
        """What every judge may know."""
        settings = self.study.settings
        return {
            "name": settings.name,
            "task": settings.task,
            "contexts": len(self.study.contexts),
            "columns": len(settings.systems),
            "k": settings.k,
            "judges": settings.judges,
        }

    def progress(self, judge: str) -> dict[str, Any]:
        """The status of every context for a judge."""
        records = self._log.records()
        name = self._judge(judge, records)
        by_context = _answers(records, name)
        return {"judge": name, "contexts": [status(by_context, context) for context in self.study.contexts]}

    def context(self, judge: str, number: int) -> dict[str, Any]:
        """One context, its columns, and the judge's marks."""
        context = self._context(number)
        records = self._log.records()
        name = self._judge(judge, records)
        order = column_order(self.study.settings, name, context.id)
        papers = {paper: msgspec.to_builtins(self.study.papers[paper]) for paper in sorted(context.papers())}
        return {
            "number": number,
            "title": context.text.title,
            "abstract": context.text.abstract,
            "pieces": pieces(context.text),
            "columns": [
                {"label": label, "papers": context.rankings[system]} for label, system in zip(LABELS, order, strict=False)
            ],
            "papers": papers,
            **self._answer(context, _answers(records, name)),
        }

    def mark(self, judge: str, number: int, marks: Mapping[str, Mark]) -> dict[str, Any]:
        """Store marks of suggested papers."""
        context = self._context(number)
        if unknown := set(marks) - set(context.papers()):
            raise ApiError(422, f"The paper {sorted(unknown)[0]!r} is not suggested for context {number}; reload the page.")
        with self._writing:
            records = self._log.records()
            name = self._judge(judge, records)
            at = _now(records, name)
            self._log.append([Judgement(name, context.id, context.text, paper, mark, at=at) for paper, mark in marks.items()])
        return self._answer(context, _answers(self._log.records(), name))

    def leave(self, judge: str, number: int, reason: Reason) -> dict[str, Any]:
        """Store that a judge does not judge a context, and why."""
        context = self._context(number)
        with self._writing:
            records = self._log.records()
            name = self._judge(judge, records)
            self._log.append([Unjudged(name, context.id, reason, at=_now(records, name))])
        return self._answer(context, _answers(self._log.records(), name))

    def export(self, judge: str) -> bytes:
        """All records of one judge, as `citewell study import` reads them."""
        records = self._log.records()
        name = self._judge(judge, records)
        return b"".join(encode(record) for record in dict.fromkeys(records) if record.judge == name)

    def _judge(self, name: str, records: Sequence[Record]) -> str:
        """The judge of this name, spelled as before."""
        allowed = self.study.settings.judges
        judge = same_judge(name, allowed or judges_of(records))
        if not judge:
            raise ApiError(422, "Give a name; marks are stored under it.")
        if allowed and judge not in allowed:
            raise ApiError(403, f"{judge} is not a judge of this study; choose one of {', '.join(allowed)}.")
        return judge

    def _context(self, number: int) -> StudyContext:
        if not 1 <= number <= len(self.study.contexts):
            raise ApiError(404, f"There is no context {number}; the study has contexts 1 to {len(self.study.contexts)}.")
        return self.study.contexts[number - 1]

    def _answer(self, context: StudyContext, by_context: Mapping[str, Answers]) -> dict[str, Any]:
        answer = by_context.get(context.id, Answers())
        return {"status": answer.status(context), "marks": answer.marks}


def _answers(records: Sequence[Record], judge: str) -> Mapping[str, Answers]:
    """The answers of one judge."""
    return answers(record for record in records if record.judge == judge).get(judge, {})


def pieces(text: JudgedText) -> list[dict[str, str]]:
    """The text of a query in pieces: words, the marked place, and other citations."""
    found = []
    for piece in _MARK.split(text.context or text.topic or text.question):
        if piece:
            kind = {TARGET_MARK: "gap", OTHER_MARK: "citation"}.get(piece, "text")
            found.append({"kind": kind, "text": piece if kind == "text" else ""})
    return found


def _now(records: Sequence[Record], judge: str) -> str:
    """The time in UTC, later than every record of the judge: clocks that are set back must not undo a later mark."""
    last = max((record.at for record in records if record.judge == judge), default="")
    now = datetime.now(UTC)
    if last >= now.strftime(_TIME):
        now = datetime.strptime(last, _TIME).replace(tzinfo=UTC) + timedelta(microseconds=1)
    return now.strftime(_TIME)
