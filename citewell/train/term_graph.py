"""Walks over a graph of key terms, in which two are linked that papers have in common, in the way of node2vec.

A walk names each key term by its words, so that skip-gram over walks gives words like vectors if their terms have like
neighbours, or have words in common.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate, combinations
from random import Random
from typing import NamedTuple

from citewell.errors import CitewellError
from citewell.text.sgrank import Term, key_terms
from citewell.train.recipe import GraphNumbers
from citewell.train.sentence_data import Lessons


class Links(NamedTuple):
    """The neighbours of a term."""

    terms: list[Term]
    until: list[int]
    """How many papers the links up to each stand for."""
    known: frozenset[Term]


def linked(lessons: Lessons, graph: GraphNumbers) -> dict[Term, Links]:
    """The key terms that are linked to any other."""
    rarity = lessons.rarity().tolist()
    together: Counter[tuple[Term, Term]] = Counter()
    for paper in range(len(lessons.paper_at) - 1):
        found = key_terms(lessons.runs(lessons.sentences(paper), graph.reach), rarity.__getitem__, graph.terms)
        together.update(combinations(sorted(found), 2))
    links: defaultdict[Term, dict[Term, int]] = defaultdict(dict)
    for (one, other), papers in together.items():
        if papers >= graph.fewest:
            links[one][other] = links[other][one] = papers
    if not links:
        raise CitewellError(f"no two key terms are in {graph.fewest} papers together; lower 'fewest' in the recipe's [graph]")
    return {term: Links(list(near), list(accumulate(near.values())), frozenset(near)) for term, near in links.items()}


def walks(lessons: Lessons, graph: GraphNumbers, seed: int) -> Iterator[list[int]]:
    """Walks as rows of words."""
    links = linked(lessons, graph)
    draw = Random(seed)
    for _ in range(graph.walks):
        for start in links:
            yield [word for term in walk(links, start, graph, draw) for word in term]


def walk(links: dict[Term, Links], start: Term, graph: GraphNumbers, draw: Random) -> list[Term]:
    """One walk; where it goes next depends on where it is and on where it was before."""
    found = [start]
    most = max(graph.back, graph.out, 1.0)
    while len(found) < graph.length:
        here = links[found[-1]]
        while True:  # draw by the links' papers, and again where the step is not taken
            (term,) = draw.choices(here.terms, cum_weights=here.until)
            if len(found) == 1 or draw.random() * most <= _likely(links, found[-2], term, graph):
                break
        found.append(term)
    return found


def _likely(links: dict[Term, Links], before: Term, term: Term, graph: GraphNumbers) -> float:
    if term == before:
        return graph.back
    return 1.0 if before in links[term].known else graph.out
