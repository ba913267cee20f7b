"""The interface of stages: `Retriever`, `Reranker` and `Fusion`.

A retriever makes a ranking for a request, a re-ranker a ranking of a ranking, and a fusion is a retriever made of pipelines. A
stage is a frozen dataclass whose fields are its parameters. Every ranking may carry a trace, in which the stage records what it
needs to explain the ranking later: `explain` and `sentences` work from that ranking alone, and never from hidden state.

The pipeline (`citewell.pipeline.pipeline`) applies the query's filters after every stage, so a stage may ignore them. A stage
that passes them on (`request.filters`) fills its ranking with papers that will be kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.errors import CitewellError
from citewell.papers import Ranking, Reason
from citewell.ranking.request import Request
from citewell.ranking.sentences import SentenceRanking
from citewell.types import Float32Array, PaperNumbers

if TYPE_CHECKING:
    from citewell.pipeline.pipeline import Pipeline

Explanations = dict[int, list[Reason]]
"""Paper number to reasons."""


@dataclass(frozen=True)
class Vectors:
    """A stage needs the vectors that an encoder makes of a text of the papers."""

    encoder: str
    text: str


@dataclass(frozen=True)
class Weights:
    """A stage needs the weights of a model; `fingerprint` identifies its files and is empty if there are none."""

    name: str
    fingerprint: str


@dataclass(frozen=True)
class TrainedModel:
    """A stage needs a model that was trained on the library (``citewell train NAME``)."""

    name: str


@dataclass(frozen=True)
class SentenceModel:
    """A stage needs the vectors that a sentence model makes of every sentence of the library."""

    name: str
    index: bool = False
    """Whether it needs an index of them too, for approximate search."""


Requirement = Vectors | Weights | TrainedModel | SentenceModel
"""What a stage needs in addition to the index; `citewell.pipeline.preparation` makes it, or says what is missing."""


class Stage:
    """One step of a pipeline."""

    @cached_property
    def key(self) -> str:
        """The value by which two stages are compared: the class and all parameters."""
        kind = type(self)
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return f"{kind.__module__}.{kind.__qualname__}({', '.join(f'{name}={_key(value)}' for name, value in values.items())})"

    def components(self) -> Iterator[Component]:
        """The pipelines that the stage is made of."""
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Component):
                    yield part

    def requirements(self) -> Sequence[Requirement]:
        """What the stage needs in addition to the index."""
        return ()

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """Why the stage put papers into `ranking`, which it returned for this request."""
        return {}

    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking | None:
        """The sentences of papers, best first; None where the stage knows nothing of sentences."""
        return None

    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """The scores of papers that the stage may not have returned; NaN where it has none."""
        raise CitewellError(f"{type(self).__name__} cannot score papers that it did not return itself.")

    @property
    def can_score(self) -> bool:
        """Whether `score` works."""
        return type(self).score is not Stage.score

    def __rshift__(self, after: Stage | Component) -> Pipeline:
        """``BM25() >> Rerank("citewell-cross")``: this stage, then another."""
        from citewell.pipeline.pipeline import Pipeline

        return Pipeline.of(self) >> after


class Retriever(Stage):
    """A first stage: from a request to a ranking."""

    @abstractmethod
    def retrieve(self, request: Request) -> Ranking:
        """The best papers for the request's query."""


class Reranker(Stage):
    """A later stage: from a ranking to a ranking."""

    @property
    def window(self) -> int | None:
        """How many of the top papers it reads; None for all of them."""
        return None

    @abstractmethod
    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        """The ranking in a new order, or with other papers."""


class Component(ABC):
    """A pipeline as the stages see that are made of pipelines."""

    name: str

    @property
    @abstractmethod
    def key(self) -> str:
        """The value by which two pipelines are compared."""

    @abstractmethod
    def rank(self, request: Request) -> Ranking:
        """Papers for the request, best first; the trace contains the ranking of every stage."""

    @property
    @abstractmethod
    def can_score(self) -> bool:
        """Whether `score` works."""

    @abstractmethod
    def score(self, request: Request, papers: PaperNumbers) -> Float32Array:
        """The scores that the last stage gives to any papers; NaN where it has none."""

    @abstractmethod
    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """Why `ranking`, which this pipeline returned for this request, has these papers."""

    @abstractmethod
    def sentences(self, request: Request, ranking: Ranking, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of papers, best first."""


class Fusion(Retriever):
    """A retriever made of pipelines, whose rankings it combines.

    Subclasses implement `fuse`. The trace of the result is the tuple of the component rankings.
    """

    of: tuple[Component, ...]

    @abstractmethod
    def fuse(self, request: Request, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking of the rankings of the components."""

    def retrieve(self, request: Request) -> Ranking:
        rankings = tuple(component.rank(request) for component in self.of)
        return self.fuse(request, rankings)._replace(trace=rankings)

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        """What each component says of the papers that it returned; of every kind of reason the first."""
        reasons: Explanations = {}
        for component, part in zip(self.of, ranking.trace, strict=True):
            returned = np.isin(papers, part.papers)
            chosen = [number for number, here in zip(papers, returned.tolist(), strict=True) if here]
            for number, others in component.explain(request, part, chosen).items():
                kinds = {reason.kind for reason in reasons.setdefault(number, [])}
                reasons[number] += [reason for reason in others if reason.kind not in kinds]
        return reasons


def _key(value: Any) -> str:
    if isinstance(value, Component):
        return value.key
    if isinstance(value, tuple):
        return f"({', '.join(_key(part) for part in value)})"
    return repr(value)
