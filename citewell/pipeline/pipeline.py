"""Pipelines: stages in a row, from a query to suggestions with their reasons.

The pipeline owns what every stage shares: it applies the query's filters after each stage, runs a stage at most once for a
request, and gathers the traces from which explanations and quoted sentences are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from citewell import threads
from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import Query, Ranking
from citewell.pipeline import preparation
from citewell.pipeline.contract import (
    Component,
    Explanations,
    Fusion,
    Requirement,
    Reranker,
    Retriever,
    SentenceModel,
    Stage,
    TrainedModel,
    Vectors,
    Weights,
)
from citewell.pipeline.explanation import suggestions
from citewell.pipeline.results import Results
from citewell.progress import SILENT, Progress
from citewell.ranking.insertion import insert, missing
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking, bm25_sentences
from citewell.types import Float32Array, PaperNumbers


class Step(NamedTuple):
    """One stage of a pipeline and the ranking that it returned."""

    stage: Stage
    ranking: Ranking


@dataclass(frozen=True)
class Pipeline(Component):
    """A retriever, then any number of re-rankers."""

    name: str
    about: str
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        first, *others = self.stages
        if not isinstance(first, Retriever):
            raise CitewellError(f"The pipeline {self.name!r} must start with a retriever, not with {type(first).__name__}.")
        for stage in others:
            if not isinstance(stage, Reranker):
                raise CitewellError(f"In the pipeline {self.name!r}, {type(stage).__name__} can only be the first stage.")

    @classmethod
    def of(cls, *stages: Stage) -> Pipeline:
        """A pipeline made in code, named after its stages."""
        return cls(" >> ".join(type(stage).__name__ for stage in stages), "", stages)

    def __rshift__(self, after: Stage | Component) -> Pipeline:
        """``pipeline >> stage``: one more stage at the end."""
        if not isinstance(after, Stage):
            raise CitewellError("Only a stage can follow a pipeline.")
        return Pipeline(f"{self.name} >> {type(after).__name__}", self.about, (*self.stages, after))

    @cached_property
    def key(self) -> str:
        return " >> ".join(stage.key for stage in self.stages)

    # -- ranking ----------------------------------------------------------------------------------------------------

    def rank(self, request: Request) -> Ranking:
        """Papers for the request, best first; computed once for each request."""
        return request.memo(self.key, "ranking", lambda: self._rank(request))

    def _rank(self, request: Request) -> Ranking:
        first, *others = self.stages
        assert isinstance(first, Retriever)
        retrieved = self._retrieved(request, first)
        if len(request.inserted):
            retrieved = insert(retrieved, request.inserted[request.passes(request.inserted)], self._window)
        steps = [Step(first, retrieved)]
        for stage in others:
            assert isinstance(stage, Reranker)
            steps.append(Step(stage, request.filtered(stage.rerank(request, steps[-1].ranking))))
        return steps[-1].ranking._replace(trace=tuple(steps))

    def _retrieved(self, request: Request, stage: Retriever) -> Ranking:
        """The ranking of a first stage, which other pipelines of the same request may share."""
        return request.memo(stage.key, "ranking of the stage", lambda: request.filtered(stage.retrieve(request)))

    @property
    def _window(self) -> int | None:
        """How many of the retrieved papers the first re-ranker reads; None for all."""
        return next((stage.window for stage in self.stages[1:] if isinstance(stage, Reranker)), None)

    def missed(self, request: Request) -> set[int]:
        """Those of the papers to be inserted that are not among the candidates without that."""
        first = self.stages[0]
        assert isinstance(first, Retriever)
        parts = [each.missed(request) for each in first.components() if isinstance(each, Pipeline)]
        if parts and isinstance(first, Fusion):
            return set.intersection(*parts)
        return set(missing(self._retrieved(request, first), request.inserted, self._window).tolist())

    @property
    def can_score(self) -> bool:
        return self.stages[-1].can_score

    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        return self.stages[-1].score(request, papers)

    # -- explanation ------------------------------------------------------------------------------------------------

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """The reasons of every stage, the last stage's first, except model scores, which say least to a person."""
        reasons: Explanations = {number: [] for number in papers}
        for stage, part in reversed(ranking.trace):
            for number, more in stage.explain(request, part, papers).items():
                reasons[number] += more
        return {number: sorted(all_, key=lambda reason: reason.kind == "model") for number, all_ in reasons.items()}

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of papers by the last stage that ranks sentences, else by BM25."""
        for stage, part in reversed(ranking.trace):
            sentences: SentenceRanking | None = stage.sentences(request, part, papers)
            if sentences is not None:
                return sentences
        return bm25_sentences(request, papers)

    @threads.one_blas_thread()
    def suggest(self, library: Library, query: Query, k: int = 10, sentences: int = 1) -> Results:
        """The `k` best papers for a query, each with its reasons and its best `sentences`."""
        request = Request(LocalCollection(library), query)
        ranking = self.rank(request)
        return Results(query, self.name, suggestions(self, request, ranking, k, sentences), self.notes(library))

    # -- requirements -----------------------------------------------------------------------------------------------

    def all_stages(self) -> Iterator[Stage]:
        """The stages, each followed by those of the pipelines that it is made of."""
        for stage in self.stages:
            yield stage
            for component in stage.components():
                if isinstance(component, Pipeline):
                    yield from component.all_stages()

    def requirements(self) -> list[Requirement]:
        """What the stages, and the pipelines that they are made of, need in addition to the index; each once."""
        return list(dict.fromkeys(need for stage in self.all_stages() for need in stage.requirements()))

    def prepare(self, library: Library, donors: Sequence[Path] = (), progress: Progress = SILENT) -> None:
        """Compute the vectors that the stages need; `donors` are libraries that may have them already."""
        for need in self.requirements():
            preparation.prepare(need, library, donors, progress)

    def prepares(self) -> bool:
        """Whether any stage needs vectors."""
        return any(isinstance(need, Vectors | SentenceModel) for need in self.requirements())

    def models(self) -> set[str]:
        """The models that must have been trained on the library."""
        return {need.name for need in self.requirements() if isinstance(need, TrainedModel)}

    def fingerprints(self) -> dict[str, str]:
        """The weights that the stages need, each with its fingerprint; empty for weights that are not installed."""
        return {need.name: need.fingerprint for need in self.requirements() if isinstance(need, Weights)}

    def missing_weights(self) -> list[str]:
        """The weights that are needed and not installed."""
        return [name for name, fingerprint in self.fingerprints().items() if not fingerprint]

    def uses_models(self) -> bool:
        """Whether any stage runs a model: that takes longer, and more memory, than words and citations."""
        return any(isinstance(need, Weights | TrainedModel) for need in self.requirements())

    def notes(self, library: Library) -> list[str]:
        """What a user should know of the results from this library: one line each."""
        notes = (preparation.note(need, library) for need in self.requirements())
        return list(dict.fromkeys(note for note in notes if note))
