"""Navigation and link expansion, compared with slow implementations of their definitions."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.collection.interface import Filters
from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.expand.links import Links
from citewell.expand.navigate import Navigate
from citewell.library import Library
from citewell.library.index.graph import Graph
from citewell.library.index.links import build
from citewell.papers import Query, Ranking
from citewell.pipeline.api import suggest
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request

EDGES = st.sets(st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda pair: pair[0] != pair[1]), max_size=40)


class Index:
    """Citations without texts."""

    def __init__(self, edges: set[tuple[int, int]]) -> None:
        stacks = {}
        for direction, pairs in (("cites", edges), ("cited_by", {(cited, citing) for citing, cited in edges})):
            owners = sorted({owner for owner, _ in pairs})
            targets = [sorted(target for start, target in pairs if start == owner) for owner in owners]
            counts = np.array([len(each) for each in targets], np.int64)
            flat = np.array([target for each in targets for target in each], np.int64)
            stacks[direction, 0] = [build(np.array(owners, np.int64), counts, flat)] if owners else []
        self.graph = Graph({key: stack for key, stack in stacks.items() if stack})


class Scores:
    """Scores a paper by its number."""

    def score(self, request: Request, papers: np.ndarray) -> np.ndarray:
        return papers.astype(np.float32)


def request(edges: set[tuple[int, int]], forbidden: set[int]) -> Request:
    library = type("L", (), {"index": Index(edges)})()
    made = Request(LocalCollection(library), Query())
    made.filters = Filters(exclude=tuple(forbidden))
    return made


def ranking(papers: list[int]) -> Ranking:
    return Ranking(np.array(papers, np.int64), np.arange(len(papers), 0, -1).astype(np.float32))


@settings(deadline=None)
@given(EDGES, st.permutations(range(1, 9)), st.integers(0, 8), st.integers(1, 12), st.sets(st.integers(9, 12)))
def test_the_union_is_that_of_the_study(
    edges: set[tuple[int, int]], order: list[int], seeds: int, total: int, forbidden: set[int]
) -> None:
    union_ranking = Navigate(Scores(), (seeds,), total).rerank(request(edges, forbidden), ranking(order))
    best = order[:seeds]
    union = list(best)
    # The references of the top papers come first, so those of the lowest-ranked seeds are cut off.
    for paper in best:
        for cited in sorted(cited for citing, cited in edges if citing == paper):
            if cited not in union and cited not in forbidden and len(union) < max(total, len(best)):
                union.append(cited)
    assert union_ranking.papers.tolist() == sorted(union, reverse=True)[:total]


def test_rounds_start_from_where_the_last_one_ended() -> None:
    edges = {(1, 5), (5, 9), (9, 12)}
    for rounds, reached in (((2,), {1, 2, 5}), ((2, 3), {1, 2, 5, 9}), ((2, 3, 4), {1, 2, 5, 9, 12})):
        assert set(Navigate(Scores(), rounds).rerank(request(edges, set()), ranking([1, 2])).papers.tolist()) == reached


def test_votes_rank_papers_that_many_top_papers_cite_higher() -> None:
    edges = {(1, 5), (2, 5), (3, 5), (1, 6)}
    plain = Navigate(Scores(), (3,)).rerank(request(edges, set()), ranking([1, 2, 3])).papers.tolist()
    voted = Navigate(Scores(), (3,), votes=2.0).rerank(request(edges, set()), ranking([1, 2, 3])).papers.tolist()
    assert plain[:2] == [6, 5] and voted[:2] == [5, 6]


@settings(deadline=None)
@given(EDGES, st.permutations(range(1, 9)), st.sampled_from(["co-citation", "coupling"]))
def test_links_are_counted_as_defined(edges: set[tuple[int, int]], order: list[int], kind: str) -> None:
    linked = Links(kind, seeds=5).rerank(request(edges, {12}), ranking(order))
    if kind == "coupling":
        edges = {(cited, citing) for citing, cited in edges}
    proximity: Counter[int] = Counter()
    for place, paper in enumerate(order[:5]):
        for between in {citing for citing, cited in edges if cited == paper}:
            for other in {cited for citing, cited in edges if citing == between}:
                proximity[other] += 1 / math.log2(place + 2)
    degree = Counter(cited for _, cited in edges)
    expected = {paper: value / math.sqrt(1 + degree[paper]) for paper, value in proximity.items() if paper != 12}
    assert dict(zip(linked.papers.tolist(), linked.scores.tolist(), strict=True)) == pytest.approx(expected)
    assert list(linked.scores) == sorted(linked.scores, reverse=True)


def test_the_best_may_count_by_their_scores() -> None:
    edges = {(1, 5), (2, 6), (3, 6), (4, 6)}
    best = Ranking(np.array([1, 2, 3, 4], np.int64), np.array([10.0, 1.0, 1.0, 1.0], np.float32))
    by_rank = Links("references", seeds=4).rerank(request(edges, set()), best).papers.tolist()
    by_score = Links("references", seeds=4, weigh_by="score").rerank(request(edges, set()), best)
    assert by_rank == [6, 5] and by_score.papers.tolist() == [5, 6]
    assert by_score.scores.tolist() == pytest.approx([1 / math.sqrt(2), 0.3 / 2])


def test_the_reason_names_the_citation_that_led_to_a_paper(tmp_path: Path) -> None:
    records = [
        {"id": "gulls", "title": "Gulls over the harbour", "year": 2015, "references": ["wings"]},
        {"id": "more", "title": "More gulls over the harbour", "year": 2016, "references": ["wings"]},
        {"id": "wings", "title": "A theory of flight", "year": 1990},
    ]
    (tmp_path / "papers.jsonl").write_text("\n".join(map(json.dumps, records)))
    library = Library(tmp_path / "library")
    library.add([tmp_path / "papers.jsonl"])
    suggestions = {each.paper.id: each for each in suggest(library, Query(title="gulls over the harbour"), "navigate")}
    path = next(reason for reason in suggestions["wings"].reasons if reason.kind == "path")
    assert path.text == "Cited by “Gulls over the harbour” and “More gulls over the harbour”, among the top matches."
    assert path.data == ["gulls", "more"]
    later = suggest(library, Query(title="gulls over the harbour", before=1990), "navigate")
    assert not later


def test_directions_and_kinds_that_do_not_exist_are_refused() -> None:
    with pytest.raises(CitewellError, match="not 'sideways'"):
        Navigate(Scores(), direction="sideways")
    with pytest.raises(CitewellError, match="references, co-citation, coupling"):
        pipeline("co-citation", link="friendship")
    with pytest.raises(CitewellError, match="by rank or by score, not by 'luck'"):
        pipeline("co-citation", weigh_by="luck")
