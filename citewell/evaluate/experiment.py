"""An experiment: every system ranks for every question, and each is measured in the same way.

A system is a pipeline, or a run that was made elsewhere. Rankings are scored in batches, so that memory does not grow with the
number of questions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate.bench import Answers, Bench, Ranked, Runs
from citewell.evaluate.by_date import moments
from citewell.evaluate.measures import Values
from citewell.evaluate.pools import Pools
from citewell.evaluate.queries import Question
from citewell.pipeline.pipeline import Pipeline

_BATCH = 200


class Watcher(Protocol):
    """Who watches an experiment."""

    def asking(self, questions: int) -> None: ...

    def asked(self, questions: int) -> None: ...


class Listener(Protocol):
    """Who gets the rankings of every system as they are made."""

    def answers(self, wanted: Answers) -> None: ...

    def rankings(self, system: str, runs: Runs) -> None: ...


@dataclass
class Outcome:
    """What one system reached."""

    name: str
    values: dict[str, Values]
    """Of each measure the value for each question, in their order; NaN where a question has no such answer."""
    ranks: list[list[int]]
    """For each question the rank of each wanted paper, 0 where it was not returned."""
    seconds: Values | None
    """CPU time of each question; None for a run that was made elsewhere."""
    injected: int = 0
    """How many wanted papers were put into the last places because retrieval had missed them."""
    refused: int = 0
    """How many papers of a foreign run are unknown, or could not have been seen by the query."""
    unanswered: int = 0
    """How many questions a foreign run says nothing to."""

    def mean(self, measure: str) -> float:
        values = self.values[measure]
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else float("nan")

    def seconds_per_query(self) -> float | None:
        return None if self.seconds is None else float(self.seconds.mean())


@dataclass
class Experiment:
    """The questions in the order in which they were asked, and what each system reached."""

    questions: list[Question]
    wanted: list[list[str]]
    """The answers of each question, under the ids that runs use."""
    outcomes: list[Outcome]
    seconds: float
    """CPU time of the whole, without the building of libraries."""
    dropped: int
    """How many questions were not asked, since too few of their answers are in the library."""


@dataclass
class Tally:
    """What is known of one system so far."""

    values: dict[str, list[Values]] = field(default_factory=dict)
    ranks: list[list[int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    injected: int = 0
    refused: int = 0
    unanswered: int = 0

    def outcome(self, name: str) -> Outcome:
        values = {measure: np.concatenate(parts) for measure, parts in self.values.items()}
        seconds = np.array(self.seconds) if self.seconds else None
        return Outcome(name, values, self.ranks, seconds, self.injected, self.refused, self.unanswered)


def conduct(
    asked: Sequence[Question],
    pools: Pools,
    pipelines: Sequence[Pipeline],
    runs: Mapping[str, Mapping[str, Ranked]] | None = None,
    names: Sequence[str] = measures.STANDARD,
    lenient: bool = False,
    watcher: Watcher | None = None,
    listener: Listener | None = None,
) -> Experiment:
    """Let every pipeline answer every question, beside the `runs` of other systems."""
    runs = runs or {}
    tallies = {name: Tally() for name in (*(pipeline.name for pipeline in pipelines), *runs)}
    if len(tallies) < len(pipelines) + len(runs):
        raise CitewellError("two systems have the same name: rename the run's file, or leave one out")
    with_sentences = any(question.sentences for question in asked)
    found: list[tuple[Question, list[str]]] = []
    if watcher:
        watcher.asking(len(asked))
    cold = list(pipelines)
    started = time.process_time() - pools.seconds
    for bench, group in moments(asked, pools, pipelines, names, lenient, with_sentences):
        for batch in _batches(group):
            answers = bench.answers(batch)
            open_questions = [question for question in batch if question.id in answers[""]]
            while cold and open_questions:  # what is loaded or compiled at first use is not a query's time
                bench.warm_up(cold.pop(), open_questions[0])
            found += [(question, answers[""][question.id]) for question in open_questions]
            if listener:
                listener.answers(answers)
            for name, made in _rankings(bench, open_questions, answers, pipelines, runs, tallies):
                for measure, values in bench.measure(open_questions, answers, made).items():
                    tallies[name].values.setdefault(measure, []).append(values)
                tallies[name].ranks += bench.ranks(answers, made)
                if listener:
                    listener.rankings(name, made)
            if watcher:
                watcher.asked(len(batch))
    if not found:
        raise CitewellError("none of the questions can be answered: the papers that they want are not in the set")
    outcomes = [tally.outcome(name) for name, tally in tallies.items()]
    seconds = time.process_time() - pools.seconds - started
    return Experiment([q for q, _ in found], [wanted for _, wanted in found], outcomes, seconds, len(asked) - len(found))


def _rankings(
    bench: Bench,
    batch: Sequence[Question],
    answers: Answers,
    pipelines: Sequence[Pipeline],
    runs: Mapping[str, Mapping[str, Ranked]],
    tallies: Mapping[str, Tally],
) -> Iterator[tuple[str, Runs]]:
    """What each system answers to a batch, one system after the other."""
    for pipeline in pipelines:
        tally = tallies[pipeline.name]
        made, seconds, injected = bench.ask(pipeline, batch, answers)
        tally.seconds += seconds
        tally.injected += injected
        yield pipeline.name, made
    for name, run in runs.items():
        tally = tallies[name]
        made, refused, injected = bench.foreign(run, batch, answers)
        tally.refused += refused
        tally.injected += injected
        tally.unanswered += sum(question.id not in run for question in batch)
        yield name, made


def _batches(group: list[Question]) -> Iterator[list[Question]]:
    for start in range(0, len(group), _BATCH):
        yield group[start : start + _BATCH]
