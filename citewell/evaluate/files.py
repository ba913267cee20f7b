"""The files of an evaluation: queries, TREC judgements (qrels) and runs, and the value of every measure for each query."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import msgspec

from citewell.evaluate import trec
from citewell.evaluate.outcomes import Experiment
from citewell.evaluate.report import Report
from citewell.evaluate.runner import Qrels, Runs
from citewell.evaluate.sentences import ORACLE, RETURNED
from citewell.evaluate.set_libraries import safe_name

_SUFFIXES = {"": "", RETURNED: "-sentences", ORACLE: "-oracle"}


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

    def qrels(self, qrels: Qrels) -> None:
        for view, relevant in qrels.items():
            trec.write_qrels(self._stream(f"qrels{_SUFFIXES[view]}.txt"), relevant)

    def rankings(self, system: str, runs: Runs) -> None:
        for view, run in runs.items():
            trec.write_run(self._stream(f"run-{safe_name(system)}{_SUFFIXES[view]}.txt.gz"), safe_name(system), run)

    def _stream(self, name: str) -> TextIO:
        if name not in self._open:
            self._open[name] = self._stack.enter_context(trec.opened(self._folder / name))
        return self._open[name]


def write_report(folder: Path, report: Report, names: Mapping[str, str]) -> None:
    """Write the queries, the values per query of every system, and the report; `names` maps canonical ids to the set's."""
    experiment = report.experiment
    with (folder / "queries.jsonl").open("wb") as out:
        out.writelines(msgspec.json.encode(line) + b"\n" for line in _queries(experiment, names))
    for at, outcome in enumerate(experiment.outcomes):
        with (folder / f"per-query-{safe_name(outcome.name)}.jsonl").open("wb") as out:
            out.writelines(msgspec.json.encode(line) + b"\n" for line in _per_query(experiment, at))
    (folder / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(report.as_json())))


def _queries(experiment: Experiment, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """What another system needs to run the same queries."""
    return [
        {
            "id": judged.id,
            "citing": names.get(judged.citing, judged.citing),
            "until": judged.date,
            "title": judged.query.title,
            "abstract": judged.query.abstract,
            "context": judged.query.context,
            "known": [names.get(name, name) for name in judged.query.known],
        }
        for judged in experiment.queries
    ]


def _per_query(experiment: Experiment, at: int) -> list[dict[str, Any]]:
    outcome = experiment.outcomes[at]
    return [
        {
            "query": judged.id,
            "kind": judged.kind,
            "relevant": relevant,
            "ranks": outcome.ranks[place],
            **{name: float(values[place]) for name, values in outcome.values.items()},
            "seconds": None if outcome.seconds is None else float(outcome.seconds[place]),
        }
        for place, (judged, relevant) in enumerate(zip(experiment.queries, experiment.relevant, strict=True))
    ]
