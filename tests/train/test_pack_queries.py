"""The queries of a pack: visible papers, mined negatives, dev measures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.models.inputs import Inputs

torch = pytest.importorskip("torch")


@pytest.fixture
def training(packed: Path, base: Path, recipes_of: Callable[[str], dict[str, Any]]) -> Any:
    from citewell.train.encoder import Hyperparameters, Training, parse_section
    from citewell.train.packs import load

    recipe = recipes_of("encoder")
    numbers = parse_section(Hyperparameters, recipe, "numbers")
    return Training(load(packed), base, numbers, Inputs(**recipe["inputs"]), torch.device("cpu"))


def relevant(training: Any, query: int) -> set[int]:
    starts = training.arrays["question_wanted_at"]
    return set(training.arrays["question_wanted"][starts[query] : starts[query + 1]].tolist())


def cited(training: Any, paper: int) -> set[int]:
    return {key & 0xFFFFFFFF for key in training.arrays["cites"].tolist() if key >> 32 == paper}


def test_mined_papers_are_not_relevant_and_not_from_the_future(training: Any) -> None:
    assert training.mine()["mined"] > 0
    arrays = training.arrays
    for queries, negatives in training._mined.values():
        assert len(queries) and negatives.shape[1] == training.numbers.mined
        for query, papers in zip(queries.tolist(), negatives.tolist(), strict=True):
            assert len(set(papers)) == len(papers)
            citing = int(arrays["question_citing"][query])
            assert not set(papers) & (relevant(training, query) | {citing, -1})
            assert citing < 0 or not set(papers) & cited(training, citing)
            assert all(arrays["paper_date"][paper] <= arrays["question_date"][query] for paper in papers)
            assert {int(arrays["paper_set"][paper]) for paper in papers} == {int(arrays["question_set"][query])}


def test_candidates_have_a_relevant_paper_and_no_ambiguous_one(training: Any) -> None:
    assert training.mine(with_relevant=True)["mined"] > 0
    for queries, papers_found in training._mined.values():
        for query, papers in zip(queries.tolist(), papers_found.tolist(), strict=True):
            citing = int(training.arrays["question_citing"][query])
            relevant_papers = set(papers) & relevant(training, query)
            assert relevant_papers, "queries without a retrieved relevant paper are not used"
            assert citing < 0 or not (set(papers) - relevant_papers) & cited(training, citing)


def test_queries_with_too_few_negatives_are_not_mined(training: Any) -> None:
    object.__setattr__(training.numbers, "mined", 23)  # 2016 and 2017 have 24 papers, some of them relevant
    training.mine()
    dates = training.pack_queries.date
    for queries, negatives in training._mined.values():
        assert (negatives >= 0).all()
        assert (dates[queries] // 10_000 >= 2018).all()


def test_top_papers_are_sorted_by_score_and_padded(training: Any) -> None:
    pack_queries = training.pack_queries
    group = next(group for group in pack_queries.groups("dev") if group.name(training.arrays) == "small local")
    pool = pack_queries.pool(group.set, group.sentences)
    vectors, query_vectors = torch.randn(len(pool), 4), torch.randn(len(group.queries), 4)
    papers_found = torch.cat(
        list(pack_queries.top_papers(group.queries, pool, vectors, lambda some: query_vectors[: len(some)], len(pool)))
    )
    for row, query in enumerate(group.queries.tolist()):
        date, citing = int(pack_queries.date[query]), int(pack_queries.citing[query])
        visible = [paper for paper in pool.tolist() if 0 < pack_queries.paper_date[paper] <= date and paper != citing]
        scores = dict(zip(pool.tolist(), (vectors @ query_vectors[row]).tolist(), strict=True))
        expected = sorted(visible, key=lambda paper: -scores[paper])
        assert papers_found[row].tolist() == expected + [-1] * (len(pool) - len(visible))


def test_possibly_relevant_papers_are_masked_in_a_batch(training: Any) -> None:
    for _ in range(10):
        queries, papers, _, _, masked = training.sample_batch()
        for row, query in enumerate(queries.tolist()):
            citing = int(training.pack_queries.citing[query])
            relevant_papers = relevant(training, query) | (cited(training, citing) | {citing} if citing >= 0 else set())
            assert papers[row].item() in relevant(training, query) and not masked[row, row]
            others = [column for column, paper in enumerate(papers.tolist()) if paper in relevant_papers and column != row]
            assert sorted(others) == torch.nonzero(masked[row]).flatten().tolist()


def test_every_query_is_in_one_group_of_its_split(training: Any) -> None:
    for split, number in (("train", 0), ("dev", 1)):
        groups = training.pack_queries.groups(split)
        papers_found = torch.cat([group.queries for group in groups]).sort().values.tolist()
        assert papers_found == [at for at, each in enumerate(training.arrays["question_split"].tolist()) if each == number]
        assert sum(group.pairs for group in groups) == sum(len(relevant(training, query)) for query in papers_found)
    names = {group.name(training.arrays) for group in training.groups}
    assert {"small global", "small local", "small paragraph", "small evidence", "small evidence sentences"} == names


def test_dev_measures(training: Any) -> None:
    pack_queries = training.pack_queries
    group = next(group for group in pack_queries.groups("dev") if group.name(training.arrays) == "small global")
    pool = pack_queries.pool(group.set, group.sentences)
    perfect = torch.stack([pack_queries.relevant(group.queries, pool.expand(len(group.queries), -1)).float()])[0]
    place = {query: at for at, query in enumerate(group.queries.tolist())}

    def encode_queries(some: Any) -> Any:
        return torch.eye(len(place))[[place[query] for query in some.tolist()]]

    measures = pack_queries.measure(group, pool, perfect.T, encode_queries, 1000)
    assert measures == {"R@10": 1.0, "RR": 1.0, "queries": len(group.queries)}
    assert pack_queries.measure(group, pool, -perfect.T, encode_queries, 1000)["RR"] < 0.1
