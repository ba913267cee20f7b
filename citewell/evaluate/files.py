"""What an evaluation leaves in a folder: the questions, TREC judgements and runs, and the value of every measure per query."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import msgspec

from citewell.evaluate import trec
from citewell.evaluate.bench import Answers, Runs
from citewell.evaluate.experiment import Experiment
from citewell.evaluate.pools import safe_name
from citewell.evaluate.report import Report

_VIEWS = {"": "", "snippets:": "-snippets", "given:": "-given"}


class Files:
    """Writes rankings as they are made."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._open: dict[str, TextIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Files:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def answers(self, wanted: Answers) -> None:
        for view, answers in wanted.items():
            trec.write_qrels(self._stream(f"qrels{_VIEWS[view]}.txt"), answers)

    def rankings(self, system: str, runs: Runs) -> None:
        for view, run in runs.items():
            trec.write_run(self._stream(f"run-{safe_name(system)}{_VIEWS[view]}.txt.gz"), safe_name(system), run)

    def _stream(self, name: str) -> TextIO:
        if name not in self._open:
            self._open[name] = self._stack.enter_context(trec.opened(self._folder / name))
        return self._open[name]


def write_report(folder: Path, report: Report, names: Mapping[str, str]) -> None:
    """The questions, the values per query of every system, and the figures; `names` are the set's own of its papers."""
    experiment = report.experiment
    with (folder / "queries.jsonl").open("wb") as out:
        out.writelines(msgspec.json.encode(line) + b"\n" for line in _questions(experiment, names))
    for at, outcome in enumerate(experiment.outcomes):
        with (folder / f"per-query-{safe_name(outcome.name)}.jsonl").open("wb") as out:
            out.writelines(msgspec.json.encode(line) + b"\n" for line in _per_query(experiment, at))
    (folder / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(report.as_json())))


def _questions(experiment: Experiment, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """What another system needs to answer the same questions."""
    return [
        {
            "id": question.id,
            "citing": names.get(question.citing, question.citing),
            "until": question.date,
            "title": question.query.title,
            "abstract": question.query.abstract,
            "context": question.query.context,
            "known": [names.get(name, name) for name in question.query.known],
        }
        for question in experiment.questions
    ]


def _per_query(experiment: Experiment, at: int) -> list[dict[str, Any]]:
    outcome = experiment.outcomes[at]
    return [
        {
            "query": question.id,
            "kind": question.kind,
            "wanted": wanted,
            "ranks": outcome.ranks[place],
            **{name: float(values[place]) for name, values in outcome.values.items()},
            "seconds": None if outcome.seconds is None else float(outcome.seconds[place]),
        }
        for place, (question, wanted) in enumerate(zip(experiment.questions, experiment.wanted, strict=True))
    ]
