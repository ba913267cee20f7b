"""Random walks in the manner of node2vec over a graph of terms."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from citewell.train.recipe import GraphHyperparameters
from citewell.train.term_graph import Links, TermGraph


def walks(terms: TermGraph, graph: GraphHyperparameters, seed: int) -> Iterator[list[int]]:
    """Walks over the nodes: `graph.walks` from each."""
    draw = Random(seed)
    for _ in range(graph.walks):
        for start in range(len(terms.links)):
            yield walk(terms.links, start, graph, draw)


def spelled(terms: TermGraph, path: list[int]) -> list[int]:
    """The words of the names along a walk: skip-gram over them brings words close whose terms have similar neighbours."""
    return [word for node in path for word in terms.names[node]]


def walk(links: list[Links], start: int, graph: GraphHyperparameters, draw: Random) -> list[int]:
    """One walk; the next node depends on the current and the previous one."""
    path = [start]
    most = max(graph.return_weight, graph.outward_weight, 1.0)
    while len(path) < graph.length:
        here = links[path[-1]]
        while True:  # sample by the number of papers, and again if the step is rejected
            (node,) = draw.choices(here.nodes, cum_weights=here.cumulative)
            if len(path) == 1 or draw.random() * most <= _step_weight(links, path[-2], node, graph):
                break
        path.append(node)
    return path


def _step_weight(links: list[Links], before: int, node: int, graph: GraphHyperparameters) -> float:
    if node == before:
        return graph.return_weight
    return 1.0 if before in links[node].neighbours else graph.outward_weight
