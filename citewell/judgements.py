"""What people said about suggestions: one line of JSON for each mark.

User studies (`citewell study`) and the page in the browser write such files, and ``citewell train fusion --judgements`` learns
from them. A file is only appended to. A later mark of the same person for the same query and paper replaces an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from citewell.errors import CitewellError

Mark = Literal["relevant", "irrelevant", "unclear"]
Reason = Literal["skipped", "insufficient"]
"""Why a person judged nothing of a query: passed over it, or found that its text does not suffice."""


class JudgedText(msgspec.Struct, frozen=True, omit_defaults=True):
    """The query that a person saw suggestions for."""

    task: str
    """One of `citewell.papers.TASKS`."""
    title: str = ""
    abstract: str = ""
    context: str = ""
    """The text round the gap, which is `citewell.papers.TARGET_MARK`."""
    topic: str = ""
    question: str = ""
    before: int = 0
    """The date (yyyymmdd) before which papers count; 0: any."""
    citing: str = ""
    """Canonical id of the citing paper, where it is known."""
    authors: tuple[str, ...] = ()
    """The authors of the draft."""
    known: tuple[str, ...] = ()
    """Ids of papers that the draft cites elsewhere."""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """One mark of one person."""

    judge: str
    """Who marked it: a name in a study, empty at the desk."""
    query: str
    """Id of the query."""
    text: JudgedText
    paper: str
    """Canonical id of the suggested paper."""
    mark: Mark
    """``unclear`` also takes an earlier mark back."""
    source: Literal["study", "desk"] = "study"
    at: str = ""
    """When, as an ISO time in UTC."""


class Unjudged(msgspec.Struct, frozen=True, omit_defaults=True):
    """A query that one person saw and did not judge. A later mark for the same query takes it back."""

    judge: str
    query: str
    unjudged: Reason
    source: Literal["study", "desk"] = "study"
    at: str = ""
    """When, as an ISO time in UTC."""


class _Kind(msgspec.Struct):
    """What tells an `Unjudged` from a `Judgement`."""

    unjudged: str = ""


Record = Judgement | Unjudged


def read_judgements(paths: Iterable[Path]) -> Iterator[Judgement]:
    """The judgements in some files, in their order, without the queries that a person did not judge."""
    return (record for record in read_records(paths) if isinstance(record, Judgement))


def read_records(paths: Iterable[Path]) -> Iterator[Record]:
    """Everything in some files, in their order."""
    for path in paths:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    yield decode(line)
                except msgspec.DecodeError as error:
                    raise CitewellError(
                        f"{path}, line {number}: not a judgement ({error}); correct or remove the line"
                    ) from None


def latest(judgements: Iterable[Judgement]) -> list[Judgement]:
    """The last mark of each person for each query and paper, in the order of the first."""
    last: dict[tuple[str, str, str], Judgement] = {}
    for judgement in judgements:
        last[judgement.judge, judgement.query, judgement.paper] = judgement
    return list(last.values())


def decode(line: bytes) -> Record:
    """The record in one line; raises `msgspec.DecodeError` if there is none."""
    if msgspec.json.decode(line, type=_Kind).unjudged:
        return msgspec.json.decode(line, type=Unjudged)
    return msgspec.json.decode(line, type=Judgement)


def encode(record: Record) -> bytes:
    """One line of a file of judgements."""
    return msgspec.json.encode(record) + b"\n"
