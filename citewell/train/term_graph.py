"""The graph from which JPDRMM's graph word vectors are learned: nodes with names, linked if they share enough papers.

The nodes are the key terms of the papers of sets, or the concepts of a collection annotated by PubTator. A name is a few words,
so that what is learned of a node is also learned of its words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np

from citewell.errors import CitewellError
from citewell.text.analysis import Vocabulary
from citewell.text.sgrank import Term, key_terms, runs
from citewell.train.annotations import AnnotatedDocument
from citewell.train.recipe import GraphHyperparameters
from citewell.train.sentence_data import SentenceData
from citewell.train.word_texts import NumberedWords
from citewell.types import IntArray

Node = TypeVar("Node", bound=Hashable)


class Links(NamedTuple):
    """The neighbours of a node."""

    nodes: list[int]
    cumulative: list[int]
    """The cumulative number of papers behind the links."""
    neighbours: frozenset[int]


class TermGraph(NamedTuple):
    """The nodes that have at least one link."""

    names: list[Term]
    """The words of each node's name, as rows of `hashes`."""
    links: list[Links]
    hashes: IntArray
    """The hash of each word: those of the data, then further words that only names have."""


def key_term_graph(data: SentenceData, graph: GraphHyperparameters) -> TermGraph:
    """The graph of the key terms of the papers."""
    idf = data.idf().tolist()
    papers = (
        key_terms(data.runs(data.sentences(paper), graph.max_words), idf.__getitem__, graph.terms)
        for paper in range(len(data.paper_at) - 1)
    )
    terms, links = link(papers, graph.min_papers)
    return TermGraph(terms, links, data.hashes)


def annotation_graph(documents: Iterable[AnnotatedDocument], hashes: IntArray, graph: GraphHyperparameters) -> TermGraph:
    """The graph of the concepts of annotated documents; the name of a concept is its most frequent mention."""
    mentions: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def concepts() -> Iterable[set[str]]:
        for document in documents:
            for concept, mention in document.mentions:
                mentions[concept][mention.lower()] += 1
            yield {concept for concept, _ in document.mentions}

    nodes, links = link(concepts(), graph.min_papers, "concepts")
    vocabulary, words = Vocabulary(), NumberedWords(hashes)
    names = []
    for node in nodes:
        name, _ = min(mentions[node].items(), key=lambda item: (-item[1], item[0]))
        found = [vocabulary.hashes[word] for run in runs(name, vocabulary) for word in run]
        names.append(tuple(map(words.number, found)))
    return TermGraph(names, links, words.hashes())


def link(papers: Iterable[Iterable[Node]], min_papers: int, what: str = "key terms") -> tuple[list[Node], list[Links]]:
    """The nodes that share at least `min_papers` papers with another one, in order, and their neighbours."""
    pairs: Counter[tuple[Node, Node]] = Counter()
    for nodes in papers:
        unordered: set[Any] = set(nodes)
        pairs.update(combinations(sorted(unordered), 2))
    near: defaultdict[Node, dict[Node, int]] = defaultdict(dict)
    for (one, other), count in pairs.items():
        if count >= min_papers:
            near[one][other] = near[other][one] = count
    if not near:
        raise CitewellError(f"no two {what} occur in {min_papers} papers together; lower 'min_papers' in [graph]")
    row = {node: at for at, node in enumerate(near)}
    links = [
        Links([row[node] for node in each], list(accumulate(each.values())), frozenset(row[node] for node in each))
        for each in near.values()
    ]
    return list(near), links


def name_rows(names: Sequence[Term]) -> IntArray:
    """Names as rows of word numbers, padded with -1."""
    rows = np.full((len(names), max(1, max(map(len, names), default=1))), -1, np.int64)
    for row, name in zip(rows, names, strict=True):
        row[: len(name)] = name
    return rows
