"""An experiment: every system ranks for every question, and each is measured in the same way.

A system is a pipeline, or a run that was made elsewhere. Rankings are scored in batches, so that memory does not grow with the
number of questions. What a system returns is checked against the rules of time: a pipeline that breaks them is an error, and
from a foreign run the forbidden papers are taken out, and counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.evaluate import measures, snippets
from citewell.evaluate.measures import Values
from citewell.evaluate.names import Names
from citewell.evaluate.pools import Pools
from citewell.evaluate.questions import Question
from citewell.evaluate.strict import Cutoff, sees_papers
from citewell.evaluate.trec import strictly_falling
from citewell.library import Library
from citewell.library.postings import BLOCK
from citewell.papers import Ranking
from citewell.pipeline import Pipeline
from citewell.retrieve.request import Request
from citewell.retrieve.scoring import load_compiled

_BATCH = 200

Ranked = dict[str, float]
"""Papers (or sentences) and scores, best first; no two scores are equal."""
Runs = dict[str, dict[str, Ranked]]
"""What is ranked (papers under the empty name, sentences as `snippets.VIEWS` names them), the question, its ranking."""
Answers = Mapping[str, Mapping[str, list[str]]]
"""What is ranked, the question, and the right answers, under the ids that rankings use."""


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
    """How many wanted papers were put into the last place because retrieval had missed them."""
    refused: int = 0
    """How many papers of a foreign run the query could not have seen."""

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


@dataclass
class _Tally:
    """What is known of one system so far."""

    values: dict[str, list[Values]] = field(default_factory=dict)
    ranks: list[list[int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    injected: int = 0
    refused: int = 0

    def outcome(self, name: str) -> Outcome:
        values = {measure: np.concatenate(parts) for measure, parts in self.values.items()}
        return Outcome(name, values, self.ranks, np.array(self.seconds) if self.seconds else None, self.injected, self.refused)


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
    ordered = sorted(asked, key=lambda question: question.date)
    tallies = {name: _Tally() for name in (*(pipeline.name for pipeline in pipelines), *runs)}
    if len(tallies) < len(pipelines) + len(runs):
        raise CitewellError("two systems have the same name: rename the run's file, or leave one out")
    wanted: list[list[str]] = []
    if watcher:
        watcher.asking(len(ordered))
    load_compiled()
    cold = list(pipelines)
    started = time.process_time() - pools.seconds
    with pools.at(sorted({question.date for question in ordered})) as libraries:
        for library, (date, group) in zip(libraries, groupby(ordered, key=lambda question: question.date), strict=True):
            bench = _Bench(library, Cutoff(date, pools.links_until), names, lenient)
            for batch in _batches(list(group)):
                while cold:  # what is loaded or compiled at first use is not a query's time
                    cold.pop().rank(Request(library, batch[0].query))
                answers = bench.answers(batch)
                wanted += answers[""].values()
                if listener:
                    listener.answers(answers)
                for name, made in _rankings(bench, batch, answers, pipelines, runs, tallies):
                    bench.measure(answers, made, tallies[name])
                    if listener:
                        listener.rankings(name, made)
                if watcher:
                    watcher.asked(len(batch))
    outcomes = [tally.outcome(name) for name, tally in tallies.items()]
    return Experiment(ordered, wanted, outcomes, time.process_time() - pools.seconds - started)


def _rankings(
    bench: _Bench,
    batch: Sequence[Question],
    answers: Answers,
    pipelines: Sequence[Pipeline],
    runs: Mapping[str, Mapping[str, Ranked]],
    tallies: Mapping[str, _Tally],
) -> Iterator[tuple[str, Runs]]:
    """What each system answers to a batch, one system after the other."""
    for pipeline in pipelines:
        yield pipeline.name, bench.ask(pipeline, batch, answers, tallies[pipeline.name])
    for name, run in runs.items():
        yield name, bench.foreign(run, batch, tallies[name])


class _Bench:
    """One library, and the questions that are put to it."""

    def __init__(self, library: Library, cutoff: Cutoff, names: Sequence[str], lenient: bool) -> None:
        self._library = library
        self._cutoff = cutoff
        self._measures = names
        self._lenient = lenient
        self._names = Names(library)
        self._places = snippets.Places(library, self._names)
        self._forbidden = _forbidden(library, cutoff)

    def answers(self, batch: Sequence[Question]) -> Answers:
        """For each view the right answers of each question, under the ids that rankings use."""
        documents = {question.id: self._names.same(question.wanted) for question in batch}
        if len(documents) < len(batch):
            raise CitewellError("two questions of the set have the same id; their rankings cannot be told apart")
        marked = {question.id: self._places.marked(question) for question in batch if question.sentences}
        return {"": documents} | (dict.fromkeys(snippets.VIEWS, marked) if marked else {})

    def ask(self, pipeline: Pipeline, batch: Sequence[Question], answers: Answers, tally: _Tally) -> Runs:
        """What a pipeline answers."""
        runs: Runs = {view: {} for view in answers}
        for question in batch:
            request = Request(self._library, question.query)
            before = time.process_time()
            ranking = pipeline.rank(request)
            if question.sentences:
                best = ranking.papers[: snippets.DOCUMENTS].tolist()
                runs[snippets.RETURNED][question.id] = self._places.ranked(pipeline.sentences(request, best))
            tally.seconds.append(time.process_time() - before)
            if question.sentences:
                given = [number for name in question.wanted if (number := self._names.number(name)) is not None]
                runs[snippets.GIVEN][question.id] = self._places.ranked(pipeline.sentences(request, given))
            self._check(pipeline.name, question, ranking)
            ranked = dict(zip(self._names.ids(ranking.papers.tolist()), strictly_falling(ranking.scores).tolist(), strict=True))
            if self._lenient:
                tally.injected += _inject(ranked, answers[""][question.id])
            runs[""][question.id] = ranked
        return runs

    def foreign(self, run: Mapping[str, Ranked], batch: Sequence[Question], tally: _Tally) -> Runs:
        """What another system answered, without the papers that the query could not have seen."""
        kept: dict[str, Ranked] = {}
        for question in batch:
            given = run.get(question.id, {})
            own = self._names.number(question.citing) if question.citing else None
            kept[question.id] = {}
            for name, score in given.items():
                number = self._names.number(name)
                if number is not None and number != own and not self._forbidden[number]:
                    kept[question.id].setdefault(self._names.ids([number])[0], score)
            tally.refused += len(given) - len(kept[question.id])
        return {"": kept}

    def measure(self, answers: Answers, runs: Runs, tally: _Tally) -> None:
        """Add the values of a batch to what is known of a system."""
        for view, run in runs.items():
            wanted = answers[view]
            names = snippets.MEASURES if view else self._measures
            values = measures.score(names, wanted, run)
            places = [at for at, question in enumerate(answers[""]) if question in wanted]
            for name in names:
                spread = np.full(len(answers[""]), np.nan)
                spread[places] = values[name]
                tally.values.setdefault(view + name, []).append(spread)
        for question, wanted_papers in answers[""].items():
            ranks = {name: rank for rank, name in enumerate(runs[""][question], 1)}
            tally.ranks.append([ranks.get(name, 0) for name in wanted_papers])

    def _check(self, name: str, question: Question, ranking: Ranking) -> None:
        own = self._names.number(question.citing) if question.citing else None
        if self._forbidden[ranking.papers].any() or (own is not None and own in ranking.papers):
            raise CitewellError(
                f"the pipeline {name!r} returned a paper that question {question.id} must not see:"
                " a stage does not honour request.allowed"
            )


def _forbidden(library: Library, cutoff: Cutoff) -> npt.NDArray[np.bool_]:
    """For each paper number whether the rules of time hide it."""
    blocks = library.index.blocks
    forbidden = np.zeros((max(blocks, default=0) + 1) * BLOCK, bool)
    if cutoff.links is not None:
        for block in blocks:
            forbidden[block * BLOCK : (block + 1) * BLOCK] = ~sees_papers(library.index.dates(block), cutoff)
    return forbidden


def _inject(ranked: Ranked, wanted: Sequence[str]) -> int:
    """Put the wanted papers that are missing into the last places, as many as are missing; returns how many."""
    missing = [name for name in wanted if name not in ranked]
    for name in missing:
        last = min(ranked.values(), default=0.0)
        ranked[name] = float(np.nextafter(np.float32(last), np.float32(-np.inf)))
    return len(missing)


def _batches(group: list[Question]) -> Iterator[list[Question]]:
    for start in range(0, len(group), _BATCH):
        yield group[start : start + _BATCH]
