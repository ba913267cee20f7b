"""What the pipeline owns for its stages: filters, memoisation, traces and notes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from citewell import CitewellError, Library, Query, suggest
from citewell.collection.local import LocalCollection
from citewell.fuse.reciprocal_rank import ReciprocalRank
from citewell.papers import Ranking, Reason
from citewell.pipeline.contract import Explanations, Reranker, Retriever
from citewell.pipeline.pipeline import Pipeline
from citewell.ranking.request import Request
from citewell.stages import BM25, LTR, Rerank
from tests.library.vectors.test_vectors import add


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = Library(tmp_path / "library")
    add(made, [{"id": f"p{year}", "title": "boats", "year": year} for year in (1990, 1999, 2010, 2019)])
    made.reload()
    return made


@dataclass(frozen=True)
class Everything(Retriever):
    """Returns all papers and ignores the filters; scores are negative."""

    shift: float = 0.0
    calls = 0

    def retrieve(self, request: Request) -> Ranking:
        type(self).calls += 1
        papers = np.arange(1, 5, dtype=np.int64)
        return Ranking(papers, (self.shift - papers).astype(np.float32), trace="everything")

    def explain(self, request: Request, ranking: Ranking, papers: list[int]) -> Explanations:
        return {number: [Reason("test", str(ranking.trace))] for number in papers}


@dataclass(frozen=True)
class AddsAll(Reranker):
    """Adds every paper again, in ascending order of number, and ignores the filters."""

    def rerank(self, request: Request, ranking: Ranking) -> Ranking:
        papers = np.arange(1, 5, dtype=np.int64)
        return Ranking(papers, -papers.astype(np.float32))


def ids(results: object) -> list[str]:
    return [suggestion.paper.id for suggestion in results]  # type: ignore[attr-defined]


@pytest.mark.parametrize("pipeline", [Everything(), Everything() >> AddsAll()], ids=["retriever", "re-ranker"])
def test_a_stage_that_forgets_the_filters_leaks_nothing(library: Library, pipeline: Pipeline) -> None:
    assert ids(suggest(library, Query(title="x", before=2000), pipeline)) == ["p1990", "p1999"]
    assert ids(suggest(library, Query(title="x", since=2000), pipeline)) == ["p2010", "p2019"]
    assert ids(suggest(library, Query(title="x", exclude=["p1990"]), pipeline)) == ["p1999", "p2010", "p2019"]
    assert ids(suggest(library, Query(title="x", known=["p1999"], only_new=True), pipeline)) == ["p1990", "p2010", "p2019"]


def test_scores_may_be_any_float(library: Library) -> None:
    results = suggest(library, Query(title="x"), Everything())
    assert [suggestion.score for suggestion in results] == [-1.0, -2.0, -3.0, -4.0]


def test_reasons_come_from_the_trace(library: Library) -> None:
    request = Request(LocalCollection(library), Query(title="x"))
    pipeline = Everything() >> AddsAll()
    ranking = pipeline.rank(request)
    assert [type(step.stage) for step in ranking.trace] == [Everything, AddsAll]
    elsewhere = Request(LocalCollection(library), Query(title="y"))
    assert pipeline.explain(elsewhere, ranking, [1])[1][0].text == "everything", "no other call is needed before"


def test_equal_stages_run_once_for_a_request_and_different_ones_do_not_share(library: Library) -> None:
    request = Request(LocalCollection(library), Query(title="x"))
    Everything.calls = 0
    one, two = Pipeline("one", "", (Everything(),)), Pipeline("two", "", (Everything(), AddsAll()))
    Pipeline.of(ReciprocalRank((one, two))).rank(request)
    assert Everything.calls == 1
    assert Pipeline.of(Everything(shift=9.0)).rank(request).scores[0] == 8.0
    assert Everything.calls == 2


def test_learned_combinations_of_other_components_do_not_share() -> None:
    one, two = Pipeline.of(BM25()), Pipeline.of(BM25(k1=2.0))
    assert LTR((one,)).key != LTR((two,)).key != LTR((one,), also=(two,)).key
    assert LTR((one,)).key == LTR((Pipeline("another name", "", (BM25(),)),)).key


def test_a_pipeline_is_made_in_one_expression(library: Library) -> None:
    pipeline = BM25(k1=1.5) >> Rerank("citewell-cross", depth=50)
    assert pipeline.name == "BM25 >> Rerank" and [type(stage) for stage in pipeline.stages] == [BM25, Rerank]
    assert ids(suggest(library, Query(title="boats"), BM25())) == ["p1990", "p1999", "p2010", "p2019"]
    with pytest.raises(CitewellError, match="must start with a retriever, not with AddsAll"):
        AddsAll() >> AddsAll()
    with pytest.raises(CitewellError, match="Everything can only be the first stage"):
        Everything() >> Everything()


def test_a_task_that_does_not_exist_is_refused_in_one_line() -> None:
    with pytest.raises(CitewellError, match=r"no task 'lokal'\. Choose one of global, local, paragraph, evidence"):
        Query(task="lokal")
