"""Examples: what several systems recommend for the same paragraph, next to each other, with the ranks of the papers it cites.

The examples are chosen by a rule, so that nobody picks them. Settings: those of `systems`; ``choose``, one of `RULES`;
``examples``, how many; ``depth``, how many recommendations of each; and ``encoder``, for the rule ``closer-titles``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from citewell.errors import CitewellError
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.systems import Answer, Systems, answers, systems_of, years_of
from citewell.evaluate.analyses.title_distances import TitleDistances, best_titles


@dataclass(frozen=True)
class Example:
    """One query as it is shown."""

    id: str
    title: str
    topic: str
    year: int
    best: dict[str, list[str]]
    """System to the titles of its best papers."""
    cited: list[str]
    """The titles of the cited papers, each with its year."""
    cited_titles: list[str]
    gaps: list[int]
    """The years between each cited paper and the citing one, 0 where its year is unknown."""
    ranks: dict[str, list[int]]
    """System to the rank of each cited paper, 0 if it was not returned."""


def old_and_missed(settings: Mapping[str, Any]) -> Callable[[Example], float]:
    """The largest gap in years to a cited paper that no system ranks among its first 1000 (Tables 6.3 and 6.4)."""

    def score(example: Example) -> float:
        ranks = np.array(list(example.ranks.values()))
        missed = ((ranks == 0) | (ranks > 1000)).all(axis=0)
        return float(max((gap for gap, out in zip(example.gaps, missed.tolist(), strict=True) if out), default=0))

    return score


def none_cited(settings: Mapping[str, Any]) -> Callable[[Example], float]:
    """Paragraphs that cite none of the best papers of any system, those with most citations first (Tables 6.5 to 6.7)."""

    def score(example: Example) -> float:
        shown = {title for titles in example.best.values() for title in titles}
        return 0.0 if shown & set(example.cited_titles) else float(len(example.cited_titles))

    return score


def closer_titles(settings: Mapping[str, Any]) -> Callable[[Example], float]:
    """The titles of the last system are closer to the topic sentence than those of the first (Tables 6.8 and 6.9)."""
    distances = TitleDistances(str(settings.get("encoder", "minilm")))

    def score(example: Example) -> float:
        first, *_, last = (distances.mean(example.topic, titles) for titles in example.best.values())
        return float(np.nan_to_num(first - last))

    return score


RULES: Mapping[str, Callable[[Mapping[str, Any]], Callable[[Example], float]]] = {
    "old-and-missed": old_and_missed,
    "none-cited": none_cited,
    "closer-titles": closer_titles,
}
"""Rule to its score: the examples with the highest scores above 0 are shown."""


def side_by_side(request: Request) -> Result:
    """Some queries, each with the best papers of every system and the ranks of the papers that it cites."""
    settings = request.settings
    rule = str(settings.get("choose", "old-and-missed"))
    if rule not in RULES:
        raise CitewellError(f"the setting 'choose' must be one of {', '.join(RULES)}, not {rule!r}")
    systems = systems_of(request)
    if rule == "closer-titles" and len(systems.pipelines) < 2:
        raise CitewellError(" ".join(systems.missing) or "the rule closer-titles compares two systems; name two in 'systems'")
    depth = int(settings.get("depth", 5))
    examples = [_example(answer, systems, depth) for answer in answers(request, systems.pipelines)]
    score = RULES[rule](settings)
    scored = sorted(((-score(example), example.id, at) for at, example in enumerate(examples)))
    chosen = [examples[at] for negative, _, at in scored[: int(settings.get("examples", 2))] if negative < 0]
    if not chosen:
        raise CitewellError(f"no query fits the rule {rule}")
    rows = [row for example in chosen for row in _rows(example, systems)]
    return Result(["", *systems.names], rows, systems.note(f"Chosen from {len(examples):,} queries by the rule {rule}."))


def _example(answer: Answer, systems: Systems, depth: int) -> Example:
    years = years_of(answer).tolist()
    records = answer.request.collection.records(answer.relevant)
    titles = [records[number].title for number in answer.relevant.tolist()]
    ranks = {}
    for name in systems.names:
        places = {number: rank for rank, number in enumerate(answer.rankings[name].papers.tolist(), 1)}
        ranks[name] = [places.get(number, 0) for number in answer.relevant.tolist()]
    return Example(
        answer.judged.id,
        answer.judged.query.title,
        answer.judged.query.context,
        answer.year,
        {name: best_titles(answer, name, depth) for name in systems.names},
        [f"{title} ({year or 'no year'})" for title, year in zip(titles, years, strict=True)],
        titles,
        [answer.year - year if year else 0 for year in years],
        ranks,
    )


def _rows(example: Example, systems: Systems) -> list[list[str | float]]:
    blank = [""] * len(systems.names)
    rows: list[list[str | float]] = [[f"{example.title} ({example.year}). Topic sentence: {example.topic}", *blank]]
    for place in range(max(map(len, example.best.values()))):
        best = [titles[place] if place < len(titles) else "" for titles in example.best.values()]
        rows.append([str(place + 1), *(f"{title} [cited]" if title in example.cited_titles else title for title in best)])
    for at, cited in enumerate(example.cited):
        rows.append([f"cites: {cited}", *(_rank(example.ranks[name][at]) for name in systems.names)])
    return rows


def _rank(rank: int) -> str:
    return f"rank {rank:,}" if rank else "not returned"
