"""Which contexts of a set a study may ask about: the filters of HybridCite's study, each with an option.

Its contexts are English, from one field of study, and of the test years; they cite a paper that the systems may suggest; they
have more than eight words that are no stop words; and the same context of the same paper is asked once. That they cite a known
paper holds for every query of a set (`queries.py`), and the years are those of the split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.strict import Timeline
from citewell.papers import OTHER_MARK, TARGET_MARK, Paper, Query
from citewell.text.analysis import terms, tokens
from citewell.text.fold import folded
from citewell.text.languages import detect_language
from citewell.user_study.study import Step

_MARKS = re.compile(rf"{TARGET_MARK}|{OTHER_MARK}")


@dataclass(frozen=True)
class Filters:
    """Which contexts are kept."""

    language: str = "en"
    """The ISO 639-1 code of their language; empty for any."""
    field_of_study: list[str] = field(default_factory=list)
    """Only contexts of papers that have one of these in their title, abstract, keywords or venue; empty for all."""
    min_words: int = 9
    """How many words that are no stop words a context must have; 0 for any."""
    group_duplicates: bool = True
    """Whether the same text of the same paper is asked once, with everything that is cited there."""


def kept(
    queries: list[JudgedQuery], filters: Filters, timeline: Timeline | None = None
) -> tuple[list[JudgedQuery], list[Step]]:
    """The queries that pass all filters, and how many each step leaves."""
    steps = []

    def step(name: str, left: list[JudgedQuery]) -> list[JudgedQuery]:
        steps.append(Step(name, len(left)))
        return left

    local = bool(queries) and queries[0].query.task == "local"
    queries = step("contexts that cite a paper of the set" if local else "queries", queries)
    if filters.field_of_study and timeline is not None:
        of_field = _in_field(filters.field_of_study, timeline)
        queries = step(
            f"in the field of study ({', '.join(filters.field_of_study)})", [each for each in queries if of_field(each)]
        )
    if filters.language:
        queries = step(f"in the language {filters.language}", [each for each in queries if _language(each) == filters.language])
    if filters.min_words:
        long = [each for each in queries if words(asked_text(each.query)) >= filters.min_words]
        queries = step(f"with at least {filters.min_words} words that are no stop words", long)
    if filters.group_duplicates:
        queries = step("without duplicates", grouped(queries))
    return queries, steps


def shuffled(queries: list[JudgedQuery], count: int, seed: int) -> list[JudgedQuery]:
    """A random sample in random order, so that the first contexts that a judge does are a random sample too."""
    order = np.random.default_rng(seed).permutation(len(queries))
    return [queries[at] for at in order[:count].tolist()]


def asked_text(query: Query) -> str:
    """The text that a judge reads first, without citation marks."""
    return _MARKS.sub(" ", query.context or f"{query.title} {query.abstract}")


def words(text: str) -> int:
    """How many words of a text are no stop words."""
    return int(sum(frequency for _, frequency in terms(text).values()))


def grouped(queries: Iterable[JudgedQuery]) -> list[JudgedQuery]:
    """The first of the queries with the same text and gap of the same paper; what any of them cites is relevant to it."""
    first: dict[tuple[str, bytes], JudgedQuery] = {}
    for judged in queries:
        same = first.setdefault((judged.citing, b" ".join(tokens(judged.query.context or judged.query.title))), judged)
        if same is not judged:
            same.relevant = list(dict.fromkeys((*same.relevant, *judged.relevant)))
    return list(first.values())


def _language(judged: JudgedQuery) -> str:
    return detect_language(asked_text(judged.query))


def _in_field(names: list[str], timeline: Timeline) -> Callable[[JudgedQuery], bool]:
    wanted = [re.compile(rf"\b{re.escape(folded(name))}\b") for name in names]

    def has(paper: Paper | None) -> bool:
        if paper is None:
            return False
        text = folded("\n".join((paper.title, paper.abstract, paper.venue, *paper.keywords)))
        return any(pattern.search(text) for pattern in wanted)

    return lambda judged: has(timeline.citing.get(judged.citing))
