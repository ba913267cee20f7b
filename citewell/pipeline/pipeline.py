"""Pipelines: stages in a row, from a query to suggestions with their reasons.

The named ones are data: ``pipelines.toml``, and ``published.toml`` for those that need weights of a study's own.
"""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.papers import Query, Ranking, Reason, Suggestion
from citewell.ranking.request import Request
from citewell.ranking.sentences import Found, Passage, SentenceRanking, quoted, rank_sentences
from citewell.text.marks import shortened

DEFAULT = "best"
_QUOTED = 280
"""Of a sentence that is a reason so many characters are shown."""
_PARTS_OF_STAGES = ("of", "also")
"""The parameters of stages that are names of other pipelines."""

STAGES = {
    "bm25": "citewell.retrieve.bm25:Bm25",
    "dense": "citewell.retrieve.dense:Dense",
    "navigate": "citewell.expand.navigate:Navigate",
    "links": "citewell.expand.linked:Linked",
    "topics": "citewell.retrieve.topics:Topics",
    "embedded": "citewell.retrieve.embedded:Embedded",
    "reciprocal-rank": "citewell.fuse.reciprocal_rank:ReciprocalRank",
    "weighted-sum": "citewell.fuse.weighted_sum:WeightedSum",
    "semi-genetic": "citewell.fuse.semi_genetic:SemiGenetic",
    "enhanced-context": "citewell.rerank.enhanced_context:EnhancedContext",
    "cross-encoder": "citewell.rerank.cross_encoder:CrossEncoder",
    "joint-snippets": "citewell.rerank.joint_snippets:JointSnippets",
    "semiser": "citewell.retrieve.semiser:Semiser",
    "semiser-sentences": "citewell.rerank.semiser:SemiserSentences",
    "ensemble": "citewell.fuse.ensemble:Ensemble",
    "co-citation": "citewell.rerank.co_citation:Company",
    "sub-pipeline": "citewell.fuse.sub_pipeline:Whole",
    "context-similarity": "citewell.rerank.context_similarity:SaidBefore",
    "sentences": "citewell.retrieve.sentences:Sentences",
    "sentence-boost": "citewell.rerank.sentence_boost:Quoted",
    "ltr": "citewell.fuse.ltr:Learned",
}
"""The kinds of stages; a new one is a module and a line here."""

ALIASES: dict[str, str] = {
    "meaning": "dense-citewell",
    "meaning-context": "dense-citewell-context",
    "meaning-abstract": "dense-citewell-abstract",
    "meaning-static": "static-citewell",
    "words-and-meaning": "hybrid-rrf",
    "cited-together": "co-cited",
    "cited-by-the-best": "references-of-top",
    "cited-by-the-like": "references-of-similar",
    "by-the-authors": "same-authors",
    "cited-by-the-authors": "references-of-same-authors",
    "said-before": "context-similarity",
    "reading": "cross-encoder",
    "weighed": "learned",
    "weighed-company": "learned-co-citation",
    "bm25-near": "bm25-proximity",
}
"""Earlier names of pipelines, and what they are called now."""


class Stage(Protocol):
    """One step of a pipeline: all of them give reasons, and each is one or more of the kinds below."""

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]: ...


@runtime_checkable
class Ranks(Protocol):
    """A first stage."""

    def rank(self, request: Request) -> Ranking: ...


@runtime_checkable
class Refines(Protocol):
    """A later stage."""

    def refine(self, request: Request, ranking: Ranking) -> Ranking: ...


@runtime_checkable
class Scores(Protocol):
    """A stage that others may ask what it thinks of given papers."""

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]: ...


@runtime_checkable
class Quotes(Protocol):
    """A stage that ranks the sentences of given papers."""

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking: ...


@runtime_checkable
class Prepares(Protocol):
    """A stage that needs more of a library than its index, and can make it."""

    def prepare(self, library: Library, donors: Sequence[Path]) -> None: ...


@runtime_checkable
class Needs(Protocol):
    """A stage that needs trained models; only `citewell.train` can make them."""

    def needs(self) -> set[str]: ...


@runtime_checkable
class Weighs(Protocol):
    """A stage that needs weights, which no library holds: their names and a word for each, empty where there are none."""

    def weight_versions(self) -> dict[str, str]: ...


@runtime_checkable
class Tells(Protocol):
    """A stage that may have something to say of a library: what it cannot find there, and how to mend that."""

    def notes(self, library: Library) -> list[str]: ...


@dataclass(frozen=True)
class Pipeline:
    """A named row of stages."""

    name: str
    about: str
    stages: tuple[Stage, ...]

    def rank(self, request: Request) -> Ranking:
        """Papers for the request, best first; worked out once for each request."""
        return request.own(self, lambda: self._rank(request))

    def _rank(self, request: Request) -> Ranking:
        first, *others = self.stages
        if not isinstance(first, Ranks):
            raise CitewellError(f"the pipeline {self.name!r} begins with a stage that needs a ranking to start from")
        ranking = first.rank(request)
        for stage in others:
            if not isinstance(stage, Refines):
                raise CitewellError(f"the pipeline {self.name!r} has a stage that can only come first in a later place")
            ranking = stage.refine(request, ranking)
        return ranking

    def prepare(self, library: Library, donors: Sequence[Path] = ()) -> None:
        """Let every stage make of the library what it needs; `donors` are libraries of the same papers that may have it."""
        for stage in self._all_stages():
            if isinstance(stage, Prepares):
                stage.prepare(library, donors)

    def prepares(self) -> bool:
        """Whether any stage needs more of a library than its index."""
        return any(isinstance(stage, Prepares) for stage in self._all_stages())

    def can_score(self) -> bool:
        """Whether the last stage can say what it thinks of papers that it may not have found."""
        return isinstance(self.stages[-1], Scores)

    def score(self, request: Request, papers: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What the last stage thinks of papers that it may not have found."""
        last = self.stages[-1]
        if not isinstance(last, Scores):
            raise CitewellError(f"the pipeline {self.name!r} cannot score papers that it did not find itself")
        return last.score(request, papers)

    def reasons(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """What each stage has to say for some papers, the last stage first, but for a model's score: it tells the least."""
        reasons: dict[int, list[Reason]] = {num: [] for num in papers}
        for stage in reversed(self.stages):
            for num, found in stage.reasons(request, papers).items():
                reasons[num] += found
        return {num: sorted(found, key=lambda reason: reason.kind == "reading") for num, found in reasons.items()}

    def models(self) -> set[str]:
        """The trained models that the stages, and the pipelines that they put together, need."""
        return {name for stage in self._all_stages() if isinstance(stage, Needs) for name in stage.needs()}

    def reads_with_models(self) -> bool:
        """Whether any stage needs weights or a trained model: that takes longer, and more memory, than words and links do."""
        return any(isinstance(stage, Needs | Weighs) for stage in self._all_stages())

    def lacks(self) -> list[str]:
        """The weights that are needed and nowhere to be found."""
        return [name for name, word in self.weight_versions().items() if not word]

    def weight_versions(self) -> dict[str, str]:
        """The weights that the stages, and the pipelines that they put together, need: their names, and a word for each."""
        return {
            name: word
            for stage in self._all_stages()
            if isinstance(stage, Weighs)
            for name, word in stage.weight_versions().items()
        }

    def notes(self, library: Library) -> list[str]:
        """What a user should know of the answers that this library gives: one line each, none twice."""
        notes = [note for stage in self._all_stages() if isinstance(stage, Tells) for note in stage.notes(library)]
        return list(dict.fromkeys(notes))

    def _all_stages(self) -> Iterator[Stage]:
        """The stages, each followed by those of the pipelines that it puts together."""
        for stage in self.stages:
            yield stage
            parts = [part for name in _PARTS_OF_STAGES for part in getattr(stage, name, ())]
            for inner in (*parts, getattr(stage, "by", None)):
                if isinstance(inner, Pipeline):
                    yield from inner._all_stages()

    def sentences(self, request: Request, papers: Sequence[int]) -> SentenceRanking:
        """The sentences of some papers, best first, by the last stage that knows of sentences, else by BM25."""
        for stage in reversed(self.stages):
            if isinstance(stage, Quotes):
                return stage.sentences(request, papers)
        return rank_sentences(request, papers)

    def quotes(self, request: Request, papers: Sequence[int], most: int) -> dict[int, list[Passage]]:
        """Of each of some papers at most so many sentences that bear on the request, the best first."""
        return quoted(request, papers, self.sentences(request, papers), most)

    def search(self, library: Library, query: Query, size: int = 10, snippets: int = 2) -> list[Found]:
        """The best papers for a question, each with its best sentences."""
        request = Request(library, query)
        ranking = self.rank(request)
        records = library.store.papers([int(num) for num in ranking.papers[: 2 * size]])
        chosen = {int(num): float(score) for num, score in zip(*ranking, strict=True) if int(num) in records}
        best = list(chosen)[:size]
        passages = self.quotes(request, best, snippets)
        return [Found(records[num], chosen[num], passages[num]) for num in best]

    def suggest(self, library: Library, query: Query, size: int = 10) -> list[Suggestion]:
        """The best papers as a person sees them, each with the reasons for it."""
        request = Request(library, query)
        ranking = self.rank(request)
        records = library.store.papers([int(num) for num in ranking.papers[: 2 * size]])
        # A paper removed since the index was opened is in the ranking but no longer in the store.
        chosen = [(int(num), float(score)) for num, score in zip(*ranking, strict=True) if int(num) in records][:size]
        reasons = self._with_citations(request, [num for num, _ in chosen])
        for num, passages in self.quotes(request, list(reasons), 1).items():
            quotes = [Reason("sentence", f"“{shortened(each.text, _QUOTED)}”", [each.text]) for each in passages]
            reasons[num] = quotes + reasons[num]
        return [Suggestion(rank, records[num], score, reasons[num]) for rank, (num, score) in enumerate(chosen, 1)]

    def _with_citations(self, request: Request, papers: list[int]) -> dict[int, list[Reason]]:
        """The reasons of the stages, and how often the other suggestions and the library cite each paper."""
        reasons = self.reasons(request, papers)
        store = request.library.store
        among, overall = store.citations_among(papers), store.times_cited(papers)
        names = {
            num: paper.id for num, paper in store.papers(list({citing for found in among.values() for citing in found})).items()
        }
        for num in papers:
            if citing := among.get(num):
                others = "1 other suggestion" if len(citing) == 1 else f"{len(citing)} other suggestions"
                text = (
                    f"cited by {others} and {overall[num]:,} papers in all"
                    if overall[num] > len(citing)
                    else f"cited by {others}"
                )
                reasons[num].append(Reason("citations", text, [names[paper] for paper in citing]))
            elif overall.get(num):
                times = "once" if overall[num] == 1 else f"{overall[num]:,} times"
                reasons[num].append(Reason("citations", f"cited {times} in the library"))
        return reasons


@lru_cache(maxsize=1)
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """The named pipelines as data, in order; ``$CITEWELL_PIPELINES`` may name a file with more of them."""
    ours = [
        tomllib.loads(files("citewell.pipeline").joinpath(name).read_text("utf-8"))
        for name in ("pipelines.toml", "published.toml")
    ]
    return ours[0] | ours[1] | _given(os.environ.get("CITEWELL_PIPELINES", ""))


def _given(path: str) -> dict[str, Any]:
    """The pipelines of a user's own file."""
    if not path:
        return {}
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CitewellError(f"$CITEWELL_PIPELINES names {path}, which cannot be read: {error}") from None
    for name, each in found.items():
        if not (isinstance(each, dict) and isinstance(each.get("stages"), list) and isinstance(each.get("about"), str)):
            raise CitewellError(f'{path}: the pipeline {name!r} needs an "about" and its "stages", as those of citewell have')
        for stage in each["stages"]:
            if not isinstance(stage, dict) or stage.get("kind") not in STAGES:
                raise CitewellError(f"{path}: a stage of {name!r} is of no known kind; there are {', '.join(STAGES)}")
    return found


def pipeline(name: str = DEFAULT, **overrides: Any) -> Pipeline:
    """The pipeline called `name`; `overrides` replace parameters of the stages that have them.

    A part of a parameter is named with a dot: ``{"fields.cited": 0.5}``.
    """
    name = _current_name(name)
    found = definitions().get(name)
    if found is None:
        raise CitewellError(f"there is no pipeline {name!r}; 'citewell pipelines' lists them: {', '.join(definitions())}")
    stages = tuple(_stage(parameters, overrides) for parameters in found["stages"])
    if unused := [key for key in overrides if not any(_takes(type(stage), key) for stage in stages)]:
        raise CitewellError(f"no stage of the pipeline {name!r} has a parameter {unused[0]!r}")
    return Pipeline(name, found["about"], stages)


def _current_name(name: str) -> str:
    """The name of the pipeline that `name` stands for, which may be an earlier name of it."""
    if name not in ALIASES or name in definitions():
        return name
    _warn_renamed(name)
    return ALIASES[name]


@lru_cache(maxsize=len(ALIASES))
def _warn_renamed(name: str) -> None:
    """Name the new name on standard error, once in a process."""
    print(f"The pipeline {name!r} is now called {ALIASES[name]!r}.", file=sys.stderr)


def prepare(library: Library, name: str = DEFAULT) -> None:
    """Make of the library what the pipeline called `name` needs beside the index: vectors, where papers lack them."""
    pipeline(name).prepare(library)


def suggest(library: Library, query: Query, name: str = DEFAULT, size: int = 10) -> list[Suggestion]:
    """What to cite: the `size` best papers of the library for `query` by the pipeline called `name`."""
    return pipeline(name).suggest(library, query, size)


def search(library: Library, question: str | Query, name: str = DEFAULT, size: int = 10, snippets: int = 2) -> list[Found]:
    """Papers that answer a question or bear on a claim, each with at most `snippets` of its sentences that do."""
    query = question if isinstance(question, Query) else Query("evidence", context=question)
    return pipeline(name).search(library, query, size, snippets)


def _stage(parameters: Mapping[str, Any], overrides: Mapping[str, Any]) -> Stage:
    module, name = STAGES[parameters["kind"]].split(":")
    kind: type[Any] = getattr(import_module(module), name)
    chosen = {key: _resolved(key, value) for key, value in parameters.items() if key != "kind"}
    for key, value in overrides.items():
        if _takes(kind, key):
            whole, _, part = key.partition(".")
            chosen[whole] = {**chosen.get(whole, {}), part: value} if part else _resolved(key, value)
    for field in fields(kind):
        if field.name in chosen:
            if isinstance(field.default, tuple) and not isinstance(chosen[field.name], tuple):
                chosen[field.name] = (chosen[field.name],)
            _check_type(field.name, field.default, chosen[field.name])
    stage: Stage = kind(**chosen)
    return stage


def _check_type(name: str, default: Any, value: Any) -> None:
    """Refuse a parameter that is of another type than the one it replaces."""
    if isinstance(default, float):
        fits = isinstance(value, int | float) and math.isfinite(value)
    elif isinstance(default, int | str | tuple):
        fits = isinstance(value, type(default))
    else:
        fits = not isinstance(value, int | float | str)
    if not fits:
        raise CitewellError(f"the parameter {name!r} cannot be {value!r}")


def _resolved(key: str, value: Any) -> Any:
    """A parameter as its stage takes it: the names of other pipelines become those pipelines, lists become tuples."""
    if key in _PARTS_OF_STAGES:
        return tuple(pipeline(name) for name in ([value] if isinstance(value, str) else value))
    if key == "by":
        return pipeline(value)
    return tuple(value) if isinstance(value, list) else value


def _takes(kind: type[Any], key: str) -> bool:
    return key.partition(".")[0] in {field.name for field in fields(kind)}
