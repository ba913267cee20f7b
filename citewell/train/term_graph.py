"""Random walks in the manner of node2vec over a graph of key terms, in which terms of the same papers are linked.

A walk spells out each key term, so that skip-gram over walks gives words similar vectors if their terms have similar neighbours
or share words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate, combinations
from random import Random
from typing import NamedTuple

from citewell.errors import CitewellError
from citewell.text.sgrank import Term, key_terms
from citewell.train.recipe import GraphHyperparameters
from citewell.train.sentence_data import SentenceData


class Links(NamedTuple):
    """The neighbours of a term."""

    terms: list[Term]
    cumulative: list[int]
    """The cumulative number of papers behind the links."""
    neighbours: frozenset[Term]


def term_links(data: SentenceData, graph: GraphHyperparameters) -> dict[Term, Links]:
    """The key terms with at least one link, and their neighbours."""
    idf = data.idf().tolist()
    pairs: Counter[tuple[Term, Term]] = Counter()
    for paper in range(len(data.paper_at) - 1):
        terms = key_terms(data.runs(data.sentences(paper), graph.max_words), idf.__getitem__, graph.terms)
        pairs.update(combinations(sorted(terms), 2))
    links: defaultdict[Term, dict[Term, int]] = defaultdict(dict)
    for (one, other), papers in pairs.items():
        if papers >= graph.min_papers:
            links[one][other] = links[other][one] = papers
    if not links:
        raise CitewellError(f"no two key terms occur in {graph.min_papers} papers together; lower 'min_papers' in [graph]")
    return {term: Links(list(near), list(accumulate(near.values())), frozenset(near)) for term, near in links.items()}


def walks(data: SentenceData, graph: GraphHyperparameters, seed: int) -> Iterator[list[int]]:
    """Walks as rows of word ids."""
    links = term_links(data, graph)
    draw = Random(seed)
    for _ in range(graph.walks):
        for start in links:
            yield [word for term in walk(links, start, graph, draw) for word in term]


def walk(links: dict[Term, Links], start: Term, graph: GraphHyperparameters, draw: Random) -> list[Term]:
    """One walk; the next term depends on the current and the previous one."""
    path = [start]
    most = max(graph.return_weight, graph.outward_weight, 1.0)
    while len(path) < graph.length:
        here = links[path[-1]]
        while True:  # sample by the number of papers, and again if the step is rejected
            (term,) = draw.choices(here.terms, cum_weights=here.cumulative)
            if len(path) == 1 or draw.random() * most <= _step_weight(links, path[-2], term, graph):
                break
        path.append(term)
    return path


def _step_weight(links: dict[Term, Links], before: Term, term: Term, graph: GraphHyperparameters) -> float:
    if term == before:
        return graph.return_weight
    return 1.0 if before in links[term].neighbours else graph.outward_weight
