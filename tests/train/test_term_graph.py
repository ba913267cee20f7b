"""Graphs of terms: of key terms, of annotated concepts, and random walks over them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import msgspec
import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.text.analysis import term_hash
from citewell.train.annotations import AnnotatedDocument
from citewell.train.random_walks import spelled, walk, walks
from citewell.train.recipe import GraphHyperparameters
from citewell.train.sentence_data import SentenceData
from citewell.train.term_graph import Links, annotation_graph, key_term_graph

SETTINGS = GraphHyperparameters(terms=8, max_words=100, min_papers=2, walks=1, length=6, return_weight=0.5, outward_weight=2.0)


def of_papers(*papers: list[list[int]]) -> SentenceData:
    """Data without queries: papers of one sentence each, given by its runs."""
    runs = [run for paper in papers for run in paper]
    starts = np.cumsum([0, *(sum(map(len, paper)) for paper in papers)])
    arrays = {
        "sets": np.array(["made"]),
        "hashes": np.arange(20),
        "words": np.array([word for run in runs for word in run]),
        "begins": np.array([at == 0 for run in runs for at in range(len(run))]),
        "sentence_at": starts,
        "paper_at": np.arange(len(papers) + 1),
    }
    return SentenceData(arrays)


def test_key_terms_are_linked_if_they_share_enough_papers() -> None:
    data = of_papers([[1], [2]], [[1], [2], [3]], [[4], [3], [1]], [[5, 6], [7]], *([[at]] for at in range(8, 18)))
    terms = key_term_graph(data, SETTINGS)
    links = {terms.names[at]: {terms.names[node] for node in entry.neighbours} for at, entry in enumerate(terms.links)}
    assert links == {(1,): {(2,), (3,)}, (2,): {(1,)}, (3,): {(1,)}}
    more = key_term_graph(data, msgspec.structs.replace(SETTINGS, min_papers=1))
    assert more.names.index((5, 6)) in more.links[more.names.index((7,))].neighbours
    paths = list(walks(terms, SETTINGS, seed=1))
    assert [path[0] for path in paths] == [0, 1, 2] and {len(path) for path in paths} == {6}
    assert all(after in terms.links[before].neighbours for path in paths for before, after in pairwise(path))
    assert spelled(more, [more.names.index((5, 6)), more.names.index((7,))]) == [5, 6, 7]
    with pytest.raises(CitewellError, match=r"no two key terms .* lower 'min_papers'"):
        key_term_graph(data, msgspec.structs.replace(SETTINGS, min_papers=3))


def test_annotated_concepts_are_nodes_named_by_their_most_frequent_mention() -> None:
    documents = [
        AnnotatedDocument("1", [("MESH:D1", "Heart failure"), ("MESH:D1", "cardiac failure"), ("Gene:7", "p53")]),
        AnnotatedDocument("2", [("Gene:7", "p53"), ("MESH:D1", "heart failure"), ("MESH:D2", "aspirin")]),
    ]
    known = np.array([0, term_hash(b"heart")])
    terms = annotation_graph(documents, known, SETTINGS)
    spelling = {term_hash(word): word for word in (b"heart", b"failur", b"p53")}
    named = [[spelling[int(terms.hashes[word])] for word in name] for name in terms.names]
    assert named == [[b"p53"], [b"heart", b"failur"]] or named == [[b"heart", b"failur"], [b"p53"]]
    assert terms.hashes[:2].tolist() == known.tolist(), "the words of the data keep their numbers"
    assert [links.nodes for links in terms.links] == [[1], [0]] and terms.links[0].cumulative == [2]
    with pytest.raises(CitewellError, match="no two concepts"):
        annotation_graph(documents[:1], known, SETTINGS)


def test_a_walk_that_must_not_return_moves_on() -> None:
    near = [(1, 2), (0, 2), (0, 1, 3), (2,)]
    links = [Links(list(others), list(range(1, len(others) + 1)), frozenset(others)) for others in near]
    never_back = msgspec.structs.replace(SETTINGS, length=3, return_weight=0.0, outward_weight=1.0)
    for seed in range(20):
        first, _, third = walk(links, 0, never_back, Random(seed))
        assert first != third
