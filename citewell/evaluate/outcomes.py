"""Runs every system on every query and measures all of them in the same way.

A system is a pipeline, or an external run made elsewhere. Rankings are scored in batches, so memory does not grow with the
number of queries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.measures import Values
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.runner import Qrels, Ranked, Runner, Runs
from citewell.evaluate.set_libraries import SetLibraries
from citewell.pipeline.pipeline import Pipeline
from citewell.progress import SILENT, Progress

_BATCH = 200


class Listener(Protocol):
    """Receives the judgements and the rankings of every system as they are made."""

    def qrels(self, qrels: Qrels) -> None: ...

    def rankings(self, system: str, runs: Runs) -> None: ...


@dataclass
class Outcome:
    """The results of one system."""

    name: str
    values: dict[str, Values]
    """Measure to its value for each query, in their order; NaN where the measure does not apply to a query."""
    ranks: list[list[int]]
    """For each query the rank of each relevant paper, 0 if it was not returned."""
    seconds: Values | None
    """CPU time of each query; None for an external run."""
    injected: int = 0
    """How many relevant papers were put among the candidates because retrieval missed them; in a run, at its last ranks."""
    removed: int = 0
    """How many papers of an external run are not in the library, or hidden from the query."""
    missing: int = 0
    """How many queries an external run has no ranking for."""

    def mean(self, measure: str) -> float:
        values = self.values[measure]
        present = values[~np.isnan(values)]
        return float(present.mean()) if len(present) else float("nan")

    def seconds_per_query(self) -> float | None:
        return None if self.seconds is None else float(self.seconds.mean())


@dataclass
class Experiment:
    """The queries in the order in which they ran, and the outcome of each system."""

    queries: list[JudgedQuery]
    relevant: list[list[str]]
    """The relevant papers of each query, under the ids that runs use."""
    outcomes: list[Outcome]
    seconds: float
    """CPU time in total, without building libraries."""
    skipped: int
    """How many queries did not run, because too few of their relevant papers are in the library, or were retrieved."""


@dataclass
class _Tally:
    """The results of one system so far."""

    values: dict[str, list[Values]] = field(default_factory=dict)
    ranks: list[list[int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    injected: int = 0
    removed: int = 0
    missing: int = 0

    def outcome(self, name: str) -> Outcome:
        values = {measure: np.concatenate(parts) for measure, parts in self.values.items()}
        seconds = np.array(self.seconds) if self.seconds else None
        return Outcome(name, values, self.ranks, seconds, self.injected, self.removed, self.missing)


def run_systems(
    queries: Sequence[JudgedQuery],
    libraries: SetLibraries,
    pipelines: Sequence[Pipeline],
    runs: Mapping[str, Mapping[str, Ranked]] | None = None,
    names: Sequence[str] = measures.STANDARD,
    lenient: bool = False,
    progress: Progress = SILENT,
    listener: Listener | None = None,
    found_by: Pipeline | None = None,
) -> Experiment:
    """Run every pipeline on every query, and score it together with the external `runs`.

    `found_by`: leave out the queries of which this pipeline retrieves no relevant paper.
    """
    runs = runs or {}
    tallies = {name: _Tally() for name in (*(pipeline.name for pipeline in pipelines), *runs)}
    if len(tallies) < len(pipelines) + len(runs):
        raise CitewellError("two systems have the same name; rename one pipeline or run file, or leave one out")
    with_sentences = any(judged.sentences for judged in queries)
    judgements: list[tuple[JudgedQuery, list[str]]] = []
    left, steps = len(queries), -1
    cold = list(pipelines)
    started = time.process_time() - libraries.seconds
    prepared = [*pipelines, found_by] if found_by else pipelines
    for runner, group in runners_by_date(queries, libraries, prepared, names, lenient, with_sentences):
        if libraries.steps != steps:  # a library was built or encoded in between
            steps = libraries.steps
            progress.start("running queries", left * len(tallies), "rankings")
        for size, batch in ((len(each), each) for each in _batches(group)):
            if found_by:
                batch = [judged for judged in batch if runner.finds(found_by, judged)]
            qrels = runner.qrels(batch)
            runnable = [judged for judged in batch if judged.id in qrels[""]]
            while cold and runnable:  # what is loaded or compiled at first use is not the time of a query
                runner.warm_up(cold.pop(), runnable[0])
            judgements += [(judged, qrels[""][judged.id]) for judged in runnable]
            if listener:
                listener.qrels(qrels)
            for name, rankings in _rankings(runner, runnable, qrels, pipelines, runs, tallies, progress):
                for measure, values in runner.measure(runnable, qrels, rankings).items():
                    tallies[name].values.setdefault(measure, []).append(values)
                tallies[name].ranks += runner.ranks(qrels, rankings)
                if listener:
                    listener.rankings(name, rankings)
            progress.advance((size - len(runnable)) * len(tallies))
            left -= size
    progress.finish()
    if not judgements:
        found = f" or found by {found_by.name}" if found_by else ""
        raise CitewellError(f"no query can run: none of their relevant papers are in the set{found}")
    outcomes = [tally.outcome(name) for name, tally in tallies.items()]
    seconds = time.process_time() - libraries.seconds - started
    ran, relevant = [judged for judged, _ in judgements], [papers for _, papers in judgements]
    return Experiment(ran, relevant, outcomes, seconds, len(queries) - len(ran))


def _rankings(
    runner: Runner,
    batch: Sequence[JudgedQuery],
    qrels: Qrels,
    pipelines: Sequence[Pipeline],
    runs: Mapping[str, Mapping[str, Ranked]],
    tallies: Mapping[str, _Tally],
    progress: Progress,
) -> Iterator[tuple[str, Runs]]:
    """The rankings of a batch, one system after the other."""
    for pipeline in pipelines:
        tally = tallies[pipeline.name]
        rankings, seconds, injected = runner.run(pipeline, batch, qrels, progress)
        tally.seconds += seconds
        tally.injected += injected
        yield pipeline.name, rankings
    for name, run in runs.items():
        tally = tallies[name]
        rankings, removed, injected = runner.external(run, batch, qrels)
        tally.removed += removed
        tally.injected += injected
        tally.missing += sum(judged.id not in run for judged in batch)
        progress.advance(len(batch))
        yield name, rankings


def _batches(group: list[JudgedQuery]) -> Iterator[list[JudgedQuery]]:
    for start in range(0, len(group), _BATCH):
        yield group[start : start + _BATCH]
