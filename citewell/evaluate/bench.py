"""One library, and questions put to it: the right answers under the library's names, rankings, and what they are worth.

What a system returns is checked against the rules of time once more: a pipeline that breaks them is an error, and from a
foreign run the forbidden papers are taken out, and counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.evaluate import measures
from citewell.evaluate import sentences as snippets
from citewell.evaluate.measures import Values
from citewell.evaluate.names import Names
from citewell.evaluate.queries import Question
from citewell.evaluate.strict import Cutoff, sees_papers
from citewell.evaluate.term_overlap import is_overlap, overlap
from citewell.evaluate.trec import strictly_falling
from citewell.library import Library
from citewell.library.index.postings import BLOCK
from citewell.papers import Ranking
from citewell.pipeline.pipeline import Pipeline
from citewell.ranking.request import Request
from citewell.sources.citewell_jsonl import Naming

DEPTH = 1000
"""How many candidates there are: the last place is this one."""

Ranked = dict[str, float]
"""Papers (or sentences) and scores, best first; no two scores are equal."""
Runs = dict[str, dict[str, Ranked]]
"""What is ranked (papers under the empty name, sentences as `snippets.VIEWS` names them), the question, its ranking."""
Answers = Mapping[str, Mapping[str, list[str]]]
"""What is ranked, the question, and the right answers, under the ids that rankings use."""


class Bench:
    """Asks, checks and measures."""

    def __init__(
        self,
        library: Library,
        naming: Naming,
        cutoff: Cutoff,
        names: Sequence[str],
        lenient: bool,
        with_sentences: bool,
    ) -> None:
        self._library = library
        self._measures = [name for name in names if not is_overlap(name)]
        self._overlaps = [name for name in names if is_overlap(name)]
        self._lenient = lenient
        self._views = ("", *snippets.VIEWS) if with_sentences else ("",)
        self._names = Names(library, naming)
        self._places = snippets.Places(library, self._names)
        self._forbidden = _forbidden(library, cutoff)

    def answers(self, batch: Sequence[Question]) -> Answers:
        """For each view the right answers of each question; a question that has too few in this library is left out."""
        documents = {}
        for question in batch:
            found = self.wanted(question)
            if len(found) >= question.fewest:
                documents[question.id] = self._names.ids(found)
        marked = {question.id: self._places.marked(question) for question in batch if question.id in documents}
        sentences = {question: places for question, places in marked.items() if places}
        return {view: sentences if view else documents for view in self._views}

    def wanted(self, question: Question) -> list[int]:
        """The numbers of the papers that answer a question."""
        own = self._own(question)
        return [number for number in self._names.numbers(question.wanted) if number != own]

    def ids(self, numbers: Iterable[int]) -> list[str]:
        """What rankings call these papers."""
        return self._names.ids(numbers)

    def warm_up(self, pipeline: Pipeline, question: Question) -> None:
        pipeline.rank(self.request(question))

    def ask(self, pipeline: Pipeline, batch: Sequence[Question], answers: Answers) -> tuple[Runs, list[float], int]:
        """What a pipeline answers, the CPU time of each question, and how many wanted papers it was given."""
        runs: Runs = {view: {} for view in self._views}
        seconds, injected = [], 0
        for question in batch:
            request = self.request(question)
            before = time.process_time()
            ranking = pipeline.rank(request)
            if marked := question.id in answers.get(snippets.RETURNED, {}):
                best = ranking.papers[: snippets.DOCUMENTS].tolist()
                runs[snippets.RETURNED][question.id] = self._places.ranked(pipeline.sentences(request, ranking, best))
            seconds.append(time.process_time() - before)
            if marked:
                given = list(self._names.numbers(question.wanted))
                runs[snippets.GIVEN][question.id] = self._places.ranked(pipeline.sentences(request, ranking, given))
            self._check(pipeline.name, question, ranking)
            ranked = dict(zip(self._names.ids(ranking.papers.tolist()), strictly_falling(ranking.scores).tolist(), strict=True))
            runs[""][question.id] = ranked
            if self._lenient:
                injected += _inject(ranked, answers[""][question.id])
        return runs, seconds, injected

    def foreign(self, run: Mapping[str, Ranked], batch: Sequence[Question], answers: Answers) -> tuple[Runs, int, int]:
        """What another system answered, without what the query could not have seen; how much that was, and was given."""
        runs: Runs = {view: {} for view in self._views}
        refused = injected = 0
        for question in batch:
            papers: Ranked = {}
            sentences: Ranked = {}
            for name, score in run.get(question.id, {}).items():
                paper, mark, place = name.rpartition("#")
                if (number := self._seen(name, question)) is not None:
                    papers.setdefault(self._names.ids([number])[0], score)
                elif mark and place.isdecimal() and (number := self._seen(paper, question)) is not None:
                    sentences.setdefault(f"{self._names.ids([number])[0]}#{place}", score)
                else:
                    refused += 1
            runs[""][question.id] = papers
            if question.id in answers.get(snippets.RETURNED, {}):
                runs[snippets.RETURNED][question.id] = sentences
            if self._lenient:
                injected += _inject(papers, answers[""][question.id])
        runs.pop(snippets.GIVEN, None)
        return runs, refused, injected

    def measure(self, batch: Sequence[Question], answers: Answers, runs: Runs) -> dict[str, Values]:
        """The value of each measure for each question, NaN where it does not apply."""
        found = {name: np.array([self._overlap(name, question, runs[""]) for question in batch]) for name in self._overlaps}
        for view, run in runs.items():
            wanted = answers[view]
            names = snippets.MEASURES if view else self._measures
            values = measures.score(names, wanted, run) if wanted else {}
            places = [at for at, question in enumerate(answers[""]) if question in wanted]
            for name in names:
                found[view + name] = spread = np.full(len(answers[""]), np.nan)
                if wanted:
                    spread[places] = values[name]
        return found

    def ranks(self, answers: Answers, runs: Runs) -> list[list[int]]:
        """For each question the rank of each wanted paper, 0 where it was not returned."""
        found = []
        for question, wanted in answers[""].items():
            ranks = {name: rank for rank, name in enumerate(runs[""][question], 1)}
            found.append([ranks.get(name, 0) for name in wanted])
        return found

    def _overlap(self, name: str, question: Question, run: Mapping[str, Ranked]) -> float:
        numbers = [number for paper in run[question.id] if (number := self._names.number(paper)) is not None]
        return overlap(name, self._library, question.query, numbers)

    def request(self, question: Question) -> Request:
        """The question as a pipeline gets it: what it knows of its bibliography never holds an answer under another name."""
        query = question.query
        if query.known:
            wanted = set(self._names.numbers(question.wanted))
            query = replace(query, known=[name for name in query.known if self._names.number(name) not in wanted])
        return Request(LocalCollection(self._library), query)

    def _own(self, question: Question) -> int | None:
        return self._names.number(question.citing) if question.citing else None

    def _seen(self, name: str, question: Question) -> int | None:
        """The paper that goes by `name`, if the question may see it."""
        number = self._names.number(name)
        if number is None or self._forbidden[number] or number == self._own(question):
            return None
        return number

    def _check(self, name: str, question: Question, ranking: Ranking) -> None:
        own = self._own(question)
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
    """Put the wanted papers that are missing into the last places, those of others where all are taken; returns how many."""
    missing = [name for name in wanted if name not in ranked]
    last = [name for name in ranked if name not in wanted]
    for name in last[len(last) - max(0, len(ranked) + len(missing) - DEPTH) :]:
        del ranked[name]
    for name in missing:
        lowest = min(ranked.values(), default=0.0)
        ranked[name] = float(np.nextafter(np.float32(lowest), np.float32(-np.inf)))
    return len(missing)
