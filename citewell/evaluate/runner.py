"""Runs queries against one library: the relevant papers under the library's ids, the rankings, and their measures.

What a system returns is checked against the time rules again: a pipeline that breaks them is an error. From an external run
the papers that the query must not see are removed and counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.evaluate import measures, sentences
from citewell.evaluate.measures import Values
from citewell.evaluate.names import Names
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.strict import Cutoff, sees_papers
from citewell.evaluate.term_overlap import is_overlap, overlap
from citewell.evaluate.trec import strictly_falling
from citewell.library import Library
from citewell.library.index.postings import BLOCK
from citewell.papers import Ranking
from citewell.pipeline.pipeline import Pipeline
from citewell.progress import SILENT, Progress
from citewell.ranking.request import Request
from citewell.sources.citewell_jsonl import Naming
from citewell.types import Mask

DEPTH = 1000
"""The number of candidates: this is the last rank."""

Ranked = dict[str, float]
"""Ids of papers (or sentences) and scores, best first; no two scores are equal."""
Runs = dict[str, dict[str, Ranked]]
"""View (papers under the empty name, sentences as `sentences.VIEWS` names them) to query id to ranking."""
Qrels = Mapping[str, Mapping[str, list[str]]]
"""View to query id to the relevant papers or sentences, under the ids that rankings use."""


class Runner:
    """Runs, checks and measures."""

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
        self._views = ("", *sentences.VIEWS) if with_sentences else ("",)
        self._names = Names(library, naming)
        self._sentence_ids = sentences.SentenceIds(library, self._names)
        self._hidden = _hidden(library, cutoff)

    def qrels(self, batch: Sequence[JudgedQuery]) -> Qrels:
        """For each view what is relevant to each query; queries with too few relevant papers in this library are left out."""
        papers = {}
        for judged in batch:
            numbers = self.relevant_papers(judged)
            if len(numbers) >= judged.min_relevant:
                papers[judged.id] = self._names.ids(numbers)
        by_query = {judged.id: self._sentence_ids.relevant(judged) for judged in batch if judged.id in papers}
        with_sentences = {query: ids for query, ids in by_query.items() if ids}
        return {view: with_sentences if view else papers for view in self._views}

    def relevant_papers(self, judged: JudgedQuery) -> list[int]:
        """The numbers of the papers that are relevant to a query."""
        own = self._own(judged)
        return [number for number in self._names.numbers(judged.relevant) if number != own]

    def ids(self, numbers: Iterable[int]) -> list[str]:
        """The ids of these papers in rankings."""
        return self._names.ids(numbers)

    def finds(self, pipeline: Pipeline, judged: JudgedQuery) -> bool:
        """Whether a pipeline retrieves a relevant paper."""
        request = Request(LocalCollection(self._library), self.request(judged).query)  # without inserted papers
        return bool(np.isin(pipeline.rank(request).papers[:DEPTH], self.relevant_papers(judged)).any())

    def warm_up(self, pipeline: Pipeline, judged: JudgedQuery) -> None:
        pipeline.rank(self.request(judged))

    def run(
        self, pipeline: Pipeline, batch: Sequence[JudgedQuery], qrels: Qrels, progress: Progress = SILENT
    ) -> tuple[Runs, list[float], int]:
        """The rankings of a pipeline, the CPU time of each query, and how many relevant papers were injected."""
        runs: Runs = {view: {} for view in self._views}
        seconds, injected = [], 0
        for judged in batch:
            # A request remembers what stages computed for it, so every timed query has one of its own.
            request = self.request(judged)
            before = time.process_time()
            ranking = pipeline.rank(request)
            if has_sentences := judged.id in qrels.get(sentences.RETURNED, {}):
                top = ranking.papers[: sentences.DOCUMENTS].tolist()
                runs[sentences.RETURNED][judged.id] = self._sentence_ids.ranked(pipeline.sentences(request, ranking, top))
            seconds.append(time.process_time() - before)
            if has_sentences:
                relevant = list(self._names.numbers(judged.relevant))
                runs[sentences.ORACLE][judged.id] = self._sentence_ids.ranked(pipeline.sentences(request, ranking, relevant))
            self._check(pipeline.name, judged, ranking)
            ids, scores = self._names.ids(ranking.papers.tolist()), strictly_falling(ranking.scores).tolist()
            runs[""][judged.id] = ranked = dict(zip(ids, scores, strict=True))
            if self._lenient:
                injected += len(pipeline.missed(request))
                _inject(ranked, qrels[""][judged.id])  # what a stage has dropped since
            progress.advance()
        return runs, seconds, injected

    def external(self, run: Mapping[str, Ranked], batch: Sequence[JudgedQuery], qrels: Qrels) -> tuple[Runs, int, int]:
        """The rankings of an external run without papers that a query must not see; how many were removed, and injected."""
        runs: Runs = {view: {} for view in self._views}
        removed = injected = 0
        for judged in batch:
            papers: Ranked = {}
            ranked_sentences: Ranked = {}
            for name, score in run.get(judged.id, {}).items():
                paper, mark, place = name.rpartition("#")
                if (number := self._visible(name, judged)) is not None:
                    papers.setdefault(self._names.ids([number])[0], score)
                elif mark and place.isdecimal() and (number := self._visible(paper, judged)) is not None:
                    ranked_sentences.setdefault(f"{self._names.ids([number])[0]}#{place}", score)
                else:
                    removed += 1
            runs[""][judged.id] = papers
            if judged.id in qrels.get(sentences.RETURNED, {}):
                runs[sentences.RETURNED][judged.id] = ranked_sentences
            if self._lenient:
                injected += _inject(papers, qrels[""][judged.id])
        runs.pop(sentences.ORACLE, None)
        return runs, removed, injected

    def measure(self, batch: Sequence[JudgedQuery], qrels: Qrels, runs: Runs) -> dict[str, Values]:
        """The value of each measure for each query, NaN where it does not apply."""
        values = {name: np.array([self._overlap(name, judged, runs[""]) for judged in batch]) for name in self._overlaps}
        for view, run in runs.items():
            relevant = qrels[view]
            names: Sequence[str] = sentences.COUNTED if view else self._measures
            scored = measures.score(names, relevant, run) if relevant else {}
            if view:
                names = sentences.MEASURES
                of_characters = self._sentence_ids.average_precision
                scored[measures.BIOASQ] = np.array([of_characters(ids, run.get(query, {})) for query, ids in relevant.items()])
            places = [at for at, query in enumerate(qrels[""]) if query in relevant]
            for name in names:
                values[view + name] = column = np.full(len(qrels[""]), np.nan)
                if relevant:
                    column[places] = scored[name]
        return values

    def ranks(self, qrels: Qrels, runs: Runs) -> list[list[int]]:
        """For each query the rank of each relevant paper, 0 if it was not returned."""
        ranks_by_query = []
        for query, relevant in qrels[""].items():
            ranks = {name: rank for rank, name in enumerate(runs[""][query], 1)}
            ranks_by_query.append([ranks.get(name, 0) for name in relevant])
        return ranks_by_query

    def request(self, judged: JudgedQuery) -> Request:
        """A new request for a query. Its known references never include a relevant paper under another name."""
        query = judged.query
        if query.known:
            relevant = set(self._names.numbers(judged.relevant))
            query = replace(query, known=[name for name in query.known if self._names.number(name) not in relevant])
        inserted = np.array(self.relevant_papers(judged) if self._lenient else [], np.int64)
        return Request(LocalCollection(self._library), query, inserted)

    def _overlap(self, name: str, judged: JudgedQuery, run: Mapping[str, Ranked]) -> float:
        numbers = [number for paper in run[judged.id] if (number := self._names.number(paper)) is not None]
        return overlap(name, self._library, judged.query, numbers)

    def _own(self, judged: JudgedQuery) -> int | None:
        return self._names.number(judged.citing) if judged.citing else None

    def _visible(self, name: str, judged: JudgedQuery) -> int | None:
        """The paper called `name`, if the query may see it."""
        number = self._names.number(name)
        if number is None or self._hidden[number] or number == self._own(judged):
            return None
        return number

    def _check(self, name: str, judged: JudgedQuery, ranking: Ranking) -> None:
        own = self._own(judged)
        if self._hidden[ranking.papers].any() or (own is not None and own in ranking.papers):
            raise CitewellError(
                f"the pipeline {name!r} returned a paper that the query {judged.id} must not see:"
                " one of its stages ignores the filters of the request"
            )


def _hidden(library: Library, cutoff: Cutoff) -> Mask:
    """For each paper number whether the time rules hide it."""
    blocks = library.index.blocks
    hidden = np.zeros((max(blocks, default=0) + 1) * BLOCK, bool)
    if cutoff.links is not None:
        for block in blocks:
            hidden[block * BLOCK : (block + 1) * BLOCK] = ~sees_papers(library.index.dates(block), cutoff)
    return hidden


def _inject(ranked: Ranked, relevant: Sequence[str]) -> int:
    """Put missing relevant papers at the last ranks, replacing other papers if all ranks are taken; returns how many."""
    missing = [name for name in relevant if name not in ranked]
    last = [name for name in ranked if name not in relevant]
    for name in last[len(last) - max(0, len(ranked) + len(missing) - DEPTH) :]:
        del ranked[name]
    for name in missing:
        lowest = min(ranked.values(), default=0.0)
        ranked[name] = float(np.nextafter(np.float32(lowest), np.float32(-np.inf)))
    return len(missing)
