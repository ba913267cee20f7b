"""Sampling of negatives, and candidate lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError

torch = pytest.importorskip("torch")

SamplerFactory = Callable[..., Any]


@pytest.fixture(scope="module")
def arrays(packed: Path) -> Any:
    from citewell.train.packs import load

    return load(packed)


@pytest.fixture(scope="module")
def pack_queries(arrays: Any) -> Any:
    from citewell.train.pack_queries import PackQueries

    return PackQueries(arrays, torch.device("cpu"))


@pytest.fixture(scope="module")
def queries(arrays: Any) -> Any:
    """Every dated query of the train years."""
    return torch.from_numpy(np.flatnonzero((arrays["question_citing"] >= 0) & (arrays["question_split"] == 0)))


@pytest.fixture(scope="module")
def lists(arrays: Any, queries: Any) -> Any:
    """A list for every other query: some visible papers, and for every fourth query its relevant ones."""
    from citewell.train.lists import CandidateLists

    rows = torch.full((len(queries[::2]), 9), -1)
    for at, query in enumerate(queries[::2].tolist()):
        visible_papers = [paper for paper in visible(arrays, query) if paper not in relevant(arrays, query)][:5]
        papers = visible_papers + (relevant(arrays, query) if at % 2 else [])
        rows[at, : len(papers)] = torch.tensor(papers)
    return CandidateLists(queries[::2], rows)


@pytest.fixture(scope="module")
def make_sampler(arrays: Any, pack_queries: Any, lists: Any) -> SamplerFactory:
    from citewell.train.negatives import Negatives, NegativeSampling

    def sampler(**settings: Any) -> Any:
        return Negatives(arrays, pack_queries, NegativeSampling(**settings), lists)

    return sampler


def relevant(arrays: Any, query: int) -> list[int]:
    starts = arrays["question_wanted_at"]
    papers: list[int] = arrays["question_wanted"][starts[query] : starts[query + 1]].tolist()
    return papers


def visible(arrays: Any, query: int) -> list[int]:
    present = (arrays["paper_date"] > 0) & (arrays["paper_date"] <= arrays["question_date"][query])
    present &= arrays["paper_sentence"] == 0
    return [paper for paper in np.flatnonzero(present).tolist() if paper != arrays["question_citing"][query]]


def links(arrays: Any, before: int) -> list[tuple[int, int]]:
    """Citing and cited papers, for citations of earlier years."""
    both = ((int(key) >> 32, int(key) & 0xFFFFFFFF) for key in arrays["cites"])
    return [(citing, cited) for citing, cited in both if 0 < arrays["paper_date"][citing] // 10_000 < before]


def expected_hard(arrays: Any, lists: Any, strategy: str, query: int) -> set[int]:
    """A simple implementation of each strategy."""
    year = int(arrays["question_date"][query]) // 10_000
    earlier = links(arrays, year)
    if strategy == "random":
        return set()
    if strategy == "prefiltered":
        return set(lists.rows(torch.tensor([query]))[0].tolist()) - {-1}
    if strategy == "cited":
        return {cited for _, cited in earlier}
    if strategy == "most citations":
        times = sorted((-sum(cited == paper for _, cited in earlier), paper) for paper in {cited for _, cited in earlier})
        return {paper for count, paper in times if len(times) <= 5 or count <= times[4][0]}
    citing = int(arrays["question_citing"][query])
    first = {int(key) & 0xFFFFFFFF for key in arrays["cites"] if int(key) >> 32 == citing}
    second = {cited for start, cited in earlier if start in first} - first
    third = {cited for start, cited in earlier if start in second} - first - second
    return second | third


@pytest.mark.parametrize("hard_only", [False, True])
@pytest.mark.parametrize("strategy", ["random", "prefiltered", "graph", "most citations", "cited"])
def test_every_strategy_samples_the_right_negatives(
    arrays: Any, lists: Any, queries: Any, make_sampler: SamplerFactory, strategy: str, hard_only: bool
) -> None:
    if hard_only and strategy == "random":
        with pytest.raises(CitewellError, match="random negatives have no hard ones"):
            make_sampler(strategy=strategy, hard_only=True)
        return
    torch.manual_seed(1)
    papers = make_sampler(strategy=strategy, hard_only=hard_only, first_stage="some", most_cited=5).draw(queries, 6)
    hard_count = 0
    for query, row in zip(queries.tolist(), papers.tolist(), strict=True):
        sampled = [paper for paper in row if paper >= 0]
        assert len(set(sampled)) == len(sampled)
        visible_papers = set(visible(arrays, query)) - set(relevant(arrays, query))
        assert set(sampled) <= visible_papers, "not relevant, not the citing paper, not from the future"
        hard = expected_hard(arrays, lists, strategy, query) & visible_papers
        count = len(set(sampled) & hard)
        if strategy != "most citations":  # papers with equal counts may each be among the most cited
            expected = min(len(hard), 6 if hard_only else 3)
            assert count == expected
            assert len(sampled) == (expected if hard_only else min(6, expected + len(visible_papers - hard)))
        assert not hard_only or set(sampled) <= hard
        hard_count += count
    assert hard_count or strategy == "random"


def test_later_citations_do_not_count(arrays: Any, queries: Any, make_sampler: SamplerFactory) -> None:
    negatives = make_sampler(strategy="cited")
    cited = negatives.cited(queries)
    first = queries.tolist()[0]
    later = {paper for _, paper in links(arrays, 3000)} - {paper for _, paper in links(arrays, 2017)}
    of_2017 = [row for row, query in enumerate(queries.tolist()) if arrays["question_date"][query] < 2018_0000]
    assert first >= 0 and later and of_2017
    assert not cited[of_2017][:, sorted(later)].any()


def test_the_strict_regime_keeps_retrieved_pairs(arrays: Any, lists: Any, queries: Any) -> None:
    from citewell.train.negatives import pairs

    paired, positives = pairs(arrays, queries)
    everything = [(query, paper) for query in queries.tolist() for paper in relevant(arrays, query)]
    assert list(zip(paired.tolist(), positives.tolist(), strict=True)) == everything
    strict = pairs(arrays, queries, "strict", lists)
    expected = [(q, p) for q, p in everything if p in lists.rows(torch.tensor([q]))[0].tolist()]
    assert list(zip(*(part.tolist() for part in strict), strict=True)) == expected
    assert 0 < len(expected) < len(everything)


def test_impossible_settings_are_errors() -> None:
    from citewell.train.negatives import NegativeSampling

    for values, message in (
        ({"strategy": "near"}, "there are random, prefiltered"),
        ({"regime": "lax"}, "standard, strict"),
        ({"strategy": "prefiltered"}, "need a first stage"),
        ({"regime": "strict"}, "need a first stage"),
    ):
        with pytest.raises(CitewellError, match=message):
            NegativeSampling(**values).check()


def test_queries_without_list_have_empty_rows(lists: Any, queries: Any) -> None:
    assert lists.has_list(queries).tolist() == [at % 2 == 0 for at in range(len(queries))]
    assert (lists.rows(queries)[1::2] == -1).all() and (lists.rows(queries)[::2, 0] >= 0).all()


@pytest.mark.parametrize(("first_stage", "characters"), [("bm25", 0), ("bm25", 20), ("dense-context-abstract", 0)])
def test_candidate_lists_equal_those_of_an_evaluation(
    packed: Path,
    arrays: Any,
    set_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first_stage: str,
    characters: int,
) -> None:
    import shutil

    from citewell.evaluate.evaluation import Evaluation
    from citewell.train import prefilter as module
    from citewell.train.lists import CandidateLists
    from citewell.train.packs import TASKS

    pack = Path(shutil.copy(packed, tmp_path / "pack.npz"))
    path = module.prefilter(pack, [set_folder], "local", first_stage, depth=15, context_characters=characters)
    lists = CandidateLists.read(pack, arrays, first_stage, torch.device("cpu"))
    local = np.flatnonzero(arrays["question_task"] == TASKS.index("local"))
    assert lists.queries.tolist() == local.tolist() and path == tmp_path / f"pack.{first_stage}.npz"
    for query, row in zip(local.tolist(), lists.papers.tolist(), strict=True):
        papers = [paper for paper in row if paper >= 0]
        assert set(papers) <= set(visible(arrays, query)) and row[: len(papers)] == papers
        assert len(papers) == len(set(papers)) >= (0 if characters else 10)

    class Listener:
        """Records the rankings of the dev queries."""

        def __init__(self) -> None:
            self.papers: list[list[str]] = []

        def qrels(self, qrels: Any) -> None: ...

        def rankings(self, system: str, runs: Any) -> None:
            self.papers += [list(run)[:15] for run in runs[""].values()]

    listener = Listener()
    evaluation = Evaluation(set_folder, "local", "dev", context_characters=characters)
    evaluation.report([first_stage], listener=listener)
    from citewell.evaluate.sets import DataSet

    names = [paper.id for paper in DataSet.open(set_folder).papers()]
    dev = [at for at, query in enumerate(local.tolist()) if arrays["question_split"][query] == 1]
    ours = [[names[paper] for paper in row if paper >= 0] for row in lists.papers[dev].tolist()]
    assert sorted(ours) == sorted(listener.papers)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("existing lists are reused")

    monkeypatch.setattr(module, "SetLibraries", refuse)
    assert module.prefilter(pack, [set_folder], "local", first_stage, depth=15, context_characters=characters) == path
