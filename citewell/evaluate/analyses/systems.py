"""What several analyses share: the pipelines that the settings name, and their rankings for each query of a set.

Settings of an analysis that uses this module: ``task``; ``systems``, a list of pipelines, each a name or a table with
``pipeline``, ``settings`` and ``name``; and ``size``, how many papers the first stages return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.analyses import contract
from citewell.evaluate.by_date import runners_by_date
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.tuning import label
from citewell.papers import Ranking
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import definitions, pipeline
from citewell.ranking.request import Request
from citewell.types import Float64Array, IntArray, PaperNumbers


@dataclass(frozen=True)
class Systems:
    """The pipelines of an analysis that can run, and why others cannot."""

    pipelines: list[Pipeline]
    missing: list[str] = field(default_factory=list)
    """One sentence for each pipeline that is left out."""

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.pipelines]

    def note(self, *others: str) -> str:
        """The note of a result: some sentences, then those on missing pipelines."""
        return " ".join(text for text in (*others, *self.missing) if text)


@dataclass(frozen=True)
class Answer:
    """One query, and the ranking of each system."""

    judged: JudgedQuery
    request: Request
    relevant: PaperNumbers
    """The relevant papers in the library."""
    rankings: dict[str, Ranking]

    @property
    def year(self) -> int:
        """The year of the citing paper."""
        return self.judged.date // 10_000

    def ranks(self, system: str) -> tuple[Float64Array, int]:
        """The rank of each relevant paper, and how many of them the system did not return.

        Those get the mean of the ranks that are left, which is what a random order of the remaining papers would give.
        """
        papers = self.rankings[system].papers
        order = np.argsort(papers, kind="stable")
        at = np.minimum(np.searchsorted(papers[order], self.relevant), max(0, len(papers) - 1))
        found = papers[order][at] == self.relevant if len(papers) else np.zeros(len(self.relevant), bool)
        every = self.request.collection.field_statistics("own", self.request.hidden.tolist()).texts
        left = (len(papers) + 1 + max(every, len(papers) + 1)) / 2
        ranks = np.where(found, order[at] + 1 if len(papers) else 0, left)
        return ranks.astype(np.float64), int(np.count_nonzero(~found))


def systems_of(request: contract.Request) -> Systems:
    """The pipelines that the settings name. At least one must be available."""
    named = request.settings.get("systems", [])
    if not named:
        raise CitewellError("the analysis needs the setting 'systems', a list of pipelines")
    available, missing = [], []
    for each in named:
        entry: Mapping[str, Any] = {"pipeline": each} if isinstance(each, str) else each
        name, settings = str(entry["pipeline"]), dict(entry.get("settings", {}))
        if reason := why_missing(name, settings):
            missing.append(reason)
            continue
        size = {"size": request.settings["size"]} if "size" in request.settings else {}
        chosen = pipeline(name, **size | settings)
        available.append(replace(chosen, name=str(entry.get("name", label(name, settings)))))
    if not available:
        raise CitewellError(" ".join(missing))
    return Systems(available, missing)


def why_missing(name: str, settings: Mapping[str, Any]) -> str:
    """Why a pipeline cannot run, and how to get it; empty if it can."""
    if name not in definitions():
        return f"There is no pipeline {name!r}."
    lacking = pipeline(name, **settings).missing_weights()
    if not lacking:
        return ""
    recipe = definitions()[name].get("recipe", "")
    how = f"train it with 'citewell train {recipe} --set SET --out {lacking[0]}'" if recipe else "install its weights"
    return f"The pipeline {name} needs the model {', '.join(lacking)}: {how} and put its folder into $CITEWELL_MODELS."


def answers(
    request: contract.Request, pipelines: Sequence[Pipeline], queries: Sequence[JudgedQuery] | None = None
) -> Iterator[Answer]:
    """The rankings of every query that has a relevant paper in its library, by the time rules of an evaluation.

    A request can only be used until the next answer is drawn: its library is closed after the queries of its date.
    """
    evaluation = evaluation_of(request)
    chosen = evaluation.queries() if queries is None else queries
    libraries, left, steps = evaluation.libraries(), len(chosen), -1
    for runner, group in runners_by_date(chosen, libraries, pipelines):
        if libraries.steps != steps:  # a library was built or encoded in between
            steps = libraries.steps
            request.progress.start("running queries", left, "queries")
        left -= len(group)
        for judged in group:
            relevant = runner.relevant_papers(judged)
            if len(relevant) >= judged.min_relevant:
                asked = runner.request(judged)
                yield Answer(judged, asked, np.array(relevant, np.int64), {each.name: each.rank(asked) for each in pipelines})
            request.progress.advance()
    request.progress.finish()


def evaluation_of(request: contract.Request) -> Evaluation:
    """The evaluation whose queries an analysis uses."""
    task = str(request.settings.get("task", "paragraph"))
    return Evaluation(
        request.folder,
        task,
        request.split,
        request.sample,
        request.seed,
        progress=request.progress,
        train=request.train,
    )


def years_of(answer: Answer) -> IntArray:
    """The year of each relevant paper, 0 where it is unknown."""
    return answer.request.collection.years(answer.relevant)
