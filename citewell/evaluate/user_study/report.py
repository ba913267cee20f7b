"""The report of a study: what the judges did, the measures of every system, their differences, and the judges' agreement.

A context counts for a judge who has marked all of its suggestions. The measures are combined in two ways: as the mean over
these judges, and by majority, for which a paper is relevant if more than half of them say so. A context without any relevant
suggestion counts 0, as in HybridCite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate import significance
from citewell.evaluate.significance import Comparison
from citewell.evaluate.user_study import measures
from citewell.evaluate.user_study.agreement import Alpha, Kappa, cohen, krippendorff
from citewell.judgements import Record
from citewell.types import Float64Array
from citewell.user_study.state import Answers, answers, status
from citewell.user_study.study import Study

Unclear = Literal["irrelevant", "relevant"]
Scores = dict[str, Float64Array]
"""System to a row of measures for each context that counts."""


@dataclass(frozen=True)
class Judge:
    """What one judge did, and the means of the contexts that the judge finished."""

    name: str
    contexts: dict[str, int]
    """Status to the number of contexts: done, begun, skipped, insufficient, open."""
    marks: dict[str, int]
    """Mark to the number of papers, in all contexts that the judge did not skip."""
    means: dict[str, dict[str, float]]
    """System to measure to mean; empty without a finished context."""


@dataclass(frozen=True)
class Agreement:
    """The agreement over all marked papers, with the marks as they are or as relevant or not."""

    kappas: list[Kappa]
    alpha: Alpha


@dataclass(frozen=True)
class Combined:
    """The measures of all judges together."""

    means: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, tuple[float, float]]]
    """System to measure to the 95% interval of the mean (bootstrap over contexts)."""


@dataclass(frozen=True)
class StudyReport:
    """All figures of a study."""

    study: Study
    unclear: Unclear
    components: list[str]
    judged: int
    """Contexts that at least one judge finished: what the measures are about."""
    judged_by_all: int
    judges: list[Judge]
    mean: Combined
    majority: Combined
    comparisons: list[Comparison]
    """Every pair of systems, of the mean over judges: difference of the first from the second."""
    agreement: dict[str, Agreement]
    """``marks`` for the three marks as they are, ``relevance`` for relevant or not."""

    @property
    def measures(self) -> tuple[str, ...]:
        return measures.names(self.study.settings.k)

    def as_json(self) -> dict[str, Any]:
        """The object that ``citewell study report --json`` prints."""
        settings = self.study.settings
        return {
            "study": settings.name,
            "task": settings.task,
            "k": settings.k,
            "systems": settings.systems,
            "components": self.components,
            "unclear": self.unclear,
            "contexts": len(self.study.contexts),
            "judged": self.judged,
            "judged_by_all": self.judged_by_all,
            "judges": [asdict(judge) for judge in self.judges],
            "mean": asdict(self.mean),
            "majority": asdict(self.majority),
            "comparisons": self.comparisons,
            "agreement": {name: asdict(each) for name, each in self.agreement.items()},
        }


def report(
    study: Study, records: Sequence[Record], unclear: Unclear = "irrelevant", components: Sequence[str] = ()
) -> StudyReport:
    """The report of all judgements so far."""
    settings = study.settings
    if unknown := set(components) - set(settings.systems):
        raise CitewellError(f"--component {sorted(unknown)[0]} is not among the systems: {', '.join(settings.systems)}")
    counted = list(components) or settings.components
    by_judge = {
        judge: {name: each for name, each in by_context.items() if name in study.by_id}
        for judge, by_context in answers(records).items()
    }
    finished = {
        judge: [context for context in study.contexts if status(by_context, context) == "done"]
        for judge, by_context in by_judge.items()
    }
    by_anyone = {context.id for done in finished.values() for context in done}
    judged = [context for context in study.contexts if context.id in by_anyone]
    if not judged:
        raise CitewellError(
            f"no judge has finished a context of {study.folder} yet; a context is finished when all its papers are marked"
        )
    relevant = {
        (judge, context.id): _relevant(by_judge[judge][context.id], unclear)
        for judge, done in finished.items()
        for context in done
    }
    each = {key: measures.score(study.by_id[key[1]].rankings, counted, papers, settings.k) for key, papers in relevant.items()}
    together = [[key for key in relevant if key[1] == context.id] for context in judged]
    mean = {
        system: np.array([np.mean([each[key][system] for key in keys], axis=0) for keys in together])
        for system in settings.systems
    }
    by_majority = [
        measures.score(context.rankings, counted, _majority([relevant[key] for key in keys]), settings.k)
        for context, keys in zip(judged, together, strict=True)
    ]
    majority = {system: np.array([scores[system] for scores in by_majority]) for system in settings.systems}
    own = {
        judge: {system: np.array([each[judge, context.id][system] for context in done]) for system in settings.systems}
        for judge, done in finished.items()
    }
    return StudyReport(
        study,
        unclear,
        counted,
        len(judged),
        sum(len(keys) == len(by_judge) for keys in together),
        [_judge(study, judge, by_judge[judge], own[judge]) for judge in by_judge],
        _combined(mean, settings.k, settings.seed),
        _combined(majority, settings.k, settings.seed),
        _comparisons(mean, settings.k, settings.seed),
        {"marks": _agreement(by_judge, None), "relevance": _agreement(by_judge, unclear)},
    )


def _relevant(answer: Answers, unclear: Unclear) -> frozenset[str]:
    return frozenset(paper for paper, mark in answer.marks.items() if _category(mark, unclear) == "relevant")


def _category(mark: str, unclear: Unclear | None) -> str:
    """The mark with "unclear" decided; as it is if `unclear` is None."""
    return unclear if unclear and mark == "unclear" else mark


def _majority(relevant: Sequence[frozenset[str]]) -> frozenset[str]:
    """What more than half of the judges of a context find relevant."""
    votes = Counter(paper for papers in relevant for paper in papers)
    return frozenset(paper for paper, count in votes.items() if 2 * count > len(relevant))


def _judge(study: Study, name: str, by_context: Mapping[str, Answers], scores: Scores) -> Judge:
    contexts = Counter({"done": 0, "begun": 0, "skipped": 0, "insufficient": 0, "open": 0})
    marks = Counter({"relevant": 0, "irrelevant": 0, "unclear": 0})
    for context in study.contexts:
        contexts[status(by_context, context)] += 1
    for answer in by_context.values():
        if answer.unjudged is None:
            marks.update(answer.marks.values())
    return Judge(name, dict(contexts), dict(marks), _means(scores, study.settings.k) if contexts["done"] else {})


def _means(scores: Scores, k: int) -> dict[str, dict[str, float]]:
    return {system: dict(zip(measures.names(k), rows.mean(axis=0).tolist(), strict=True)) for system, rows in scores.items()}


def _columns(rows: Float64Array, k: int) -> dict[str, Float64Array]:
    return {name: rows[:, at] for at, name in enumerate(measures.names(k))}


def _combined(scores: Scores, k: int, seed: int) -> Combined:
    names = measures.names(k)
    intervals = {system: significance.intervals(_columns(rows, k), names, seed) for system, rows in scores.items()}
    return Combined(_means(scores, k), intervals)


def _comparisons(scores: Scores, k: int, seed: int) -> list[Comparison]:
    """Every pair of systems in every measure, as one family of tests: each difference is compared with 0."""
    pairs = {f"{one} − {other}": scores[one] - scores[other] for other, one in combinations(scores, 2)}
    if not pairs:
        return []
    contexts = len(next(iter(scores.values())))
    zeros = _columns(np.zeros((contexts, len(measures.names(k)))), k)
    return significance.compare(zeros, {name: _columns(rows, k) for name, rows in pairs.items()}, measures.names(k), seed)


def _agreement(by_judge: Mapping[str, Mapping[str, Answers]], unclear: Unclear | None) -> Agreement:
    """The agreement on every paper that a judge marked, unless the judge skipped its context."""
    marks: dict[str, dict[Hashable, str]] = {
        judge: {
            (context, paper): _category(mark, unclear)
            for context, answer in by_context.items()
            if answer.unjudged is None
            for paper, mark in answer.marks.items()
        }
        for judge, by_context in by_judge.items()
    }
    kappas = [cohen((one, other), marks[one], marks[other]) for one, other in combinations(marks, 2)]
    return Agreement(kappas, krippendorff(list(marks.values())))
