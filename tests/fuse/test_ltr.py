"""The learning-to-rank stage: its features, its order, and its reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.fuse import ltr
from citewell.fuse.ltr import LTR
from citewell.library import Library
from citewell.models.ltr_network import Network
from citewell.models.trees import Trees
from citewell.papers import Query
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from tests.evaluate.small_set import small_set

QUERY = Query("local", context="the ferry left the harbour in fog TARGETCIT with a pilot", title="Ferries and fog")


def stump(names: tuple[str, ...], feature: str, threshold: float) -> Trees:
    """One tree with one split: 2 up to the threshold, 0 above it or where the value is missing; the mean is 0.5."""
    at = names.index(feature)
    return Trees(
        names,
        np.array([at, 0, 0], np.int32),
        np.array([threshold, 0.0, 0.0]),
        np.array([1, 1, 2], np.int32),
        np.array([2, 1, 2], np.int32),
        np.array([0.5, 2.0, 0.0]),
        np.array([False, False, False]),
        np.array([True, False, False]),
        np.array([0], np.int32),
    )


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = Library(tmp_path / "library")
    made.add([small_set().write(tmp_path / "set")])
    return made


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LTR]:
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "models"))
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    ltr._loaded.cache_clear()
    yield LTR(of=(pipeline("bm25"), pipeline("bm25-contexts")), also=(pipeline("bm25-proximity"),), model="tiny", depth=10)
    ltr._loaded.cache_clear()


def trained(stage: LTR, request: Request, feature: str, threshold: float, folder: Path) -> Trees:
    """Save a stump as the model of the stage."""
    trees = stump(stage.candidate_features(request)[1].names, feature, threshold)
    trees.save(folder / "models" / "tiny" / "local.npz")
    return trees


def test_papers_that_the_trees_score_come_first_and_the_rest_follow(library: Library, stage: LTR, tmp_path: Path) -> None:
    request = Request(LocalCollection(library), QUERY)
    order, scored = stage._candidates([component.rank(request) for component in stage.of])
    papers, table = stage.candidate_features(request)
    assert papers.tolist() == scored.tolist() and table.rows.shape == (len(papers), len(table.names))
    column = table.rows[:, table.names.index("age")]
    trained(stage, request, "age", float(np.median(column)), tmp_path)
    ranking = stage.retrieve(request)
    assert set(ranking.papers.tolist()) == set(order.tolist()) and (np.diff(ranking.scores) <= 0).all()
    young = {int(num) for num, age in zip(papers, column, strict=True) if age <= np.median(column)}
    assert 0 < len(young) < len(papers)
    assert set(ranking.papers[: len(young)].tolist()) == young
    assert set(ranking.papers[: len(papers)].tolist()) == set(papers.tolist()), "papers without features come last"
    rest = [num for num in order.tolist() if num not in set(scored.tolist())]
    assert ranking.papers[len(papers) :].tolist() == rest


def test_the_reason_names_the_features_that_raised_a_paper(library: Library, stage: LTR, tmp_path: Path) -> None:
    request = Request(LocalCollection(library), QUERY)
    trained(stage, request, "bm25 rank", 1.0, tmp_path)
    ranking = stage.retrieve(request)
    best = ranking.papers[:3].tolist()
    reasons = stage.explain(request, ranking, best)
    features = [reason for reason in reasons[best[0]] if reason.kind == "features"]
    assert [(reason.text, reason.data, reason.detail) for reason in features] == [
        ("Features: BM25 on text +1.50.", ["bm25"], True)
    ]


def test_the_score_is_the_weighted_mean_of_trees_and_network(library: Library, stage: LTR, tmp_path: Path) -> None:
    request = Request(LocalCollection(library), QUERY)
    papers, table = stage.candidate_features(request)
    trees = trained(stage, request, "bm25 rank", 1.0, tmp_path)
    at, size = table.names.index("age"), len(table.names)
    old = np.zeros((size, 1))
    old[at] = 1.0
    network = Network(table.names, np.zeros(size), np.ones(size), np.zeros(0, np.int64), ((old, np.zeros(1)),), 0.5)
    network.save(tmp_path / "models" / "tiny" / "local-network.npz")
    both = ltr._loaded("tiny", "local")
    np.testing.assert_allclose(both.scores(table.rows), (trees.scores(table.rows) + 0.5 * network.scores(table.rows)) / 1.5)
    best = papers[int(np.argmax(both.scores(table.rows)))]
    ranking = stage.retrieve(request)
    assert ranking.papers[0] == best
    reasons = stage.explain(request, ranking, [int(best)])[int(best)]
    assert "age" in next(reason.data for reason in reasons if reason.kind == "features")


def test_a_model_trained_on_other_features_is_refused(library: Library, stage: LTR, tmp_path: Path) -> None:
    stump(("age",), "age", 1.0).save(tmp_path / "models" / "tiny" / "local.npz")
    with pytest.raises(CitewellError, match="other features"):
        stage.retrieve(Request(LocalCollection(library), QUERY))


def test_an_unknown_feature_is_no_reason(library: Library, stage: LTR, tmp_path: Path) -> None:
    request = Request(LocalCollection(library), QUERY)
    trees = trained(stage, request, "shared authors", 1.0, tmp_path)
    papers, table = stage.candidate_features(request)
    assert trees.contributions(table.rows).any(), "the trees give a value where the query has no authors"
    reasons = stage.explain(request, stage.retrieve(request), papers.tolist())
    assert not [reason for some in reasons.values() for reason in some if reason.kind == "features"]


def test_an_author_named_nearer_to_the_gap_counts_more(tmp_path: Path, stage: LTR) -> None:
    papers = [
        {"id": "a", "title": "Harbour fog", "authors": ["Ann Röscheisen"]},
        {"id": "b", "title": "Fog", "authors": ["Foggy, B."]},
    ]
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    library = Library(tmp_path / "named")
    library.add([tmp_path / "papers.jsonl"])

    def named(context: str) -> tuple[float, ...]:
        candidates, table = stage.candidate_features(Request(LocalCollection(library), Query("local", context=context)))
        column = dict(
            zip(candidates.tolist(), table.rows[:, table.names.index("author named in context")].tolist(), strict=True)
        )
        return tuple(column[library.number(name)] for name in "ab")

    assert named("in foggy harbours, as Röscheisen’s TARGETCIT shows of fog") == (pytest.approx(0.15 + 0.85 * np.exp(-0.1)), 0)
    assert 0.15 < named("Roscheisen told of fog in the harbour, as so many others did TARGETCIT")[0] < 0.5
    assert named("Foggy said of fog in the harbour TARGETCIT")[1] > 0


def test_suggestions_come_with_their_reasons(library: Library, stage: LTR, tmp_path: Path) -> None:
    trained(stage, Request(LocalCollection(library), QUERY), "bm25 rank", 1.0, tmp_path)
    with library:
        suggestions = Pipeline("tiny", "", (stage,)).suggest(library, QUERY, 3)
    assert len(suggestions) == 3 and any(reason.kind == "features" for reason in suggestions[0].reasons)


def test_the_features_have_their_documented_values(library: Library, stage: LTR) -> None:
    request = Request(LocalCollection(library), QUERY)
    papers, table = stage.candidate_features(request)
    column = dict(zip(table.names, table.rows.T, strict=True))
    ranks = {num: rank for rank, num in enumerate(pipeline("bm25").rank(request).papers.tolist(), 1)}
    np.testing.assert_allclose(column["bm25 rank"], [np.log(ranks.get(num, np.nan)) for num in papers.tolist()])
    cited = library.store.times_cited(papers.tolist())
    np.testing.assert_allclose(column["citations"], [np.log1p(cited.get(num, 0)) for num in papers.tolist()])
    years = [library.store.papers([num])[num].year for num in papers.tolist()]
    np.testing.assert_allclose(column["age"], [2020 - (year or 0) for year in years])
    assert np.isnan(column["shared authors"]).all(), "the query has no authors"
    assert (column["author named in context"] == 0).all(), "and the context names no author"
    assert np.isnan(column["co-cited with bibliography"]).all()


def test_a_missing_model_says_how_to_train_it(library: Library, stage: LTR) -> None:
    with pytest.raises(CitewellError, match=r"no learning-to-rank model 'tiny' for the local task\. Run 'citewell train ltr'"):
        stage.retrieve(Request(LocalCollection(library), QUERY))


def test_evidence_queries_are_ranked_like_local_ones(library: Library, stage: LTR, tmp_path: Path) -> None:
    request = Request(LocalCollection(library), Query("evidence", context="ferry harbour fog"))
    trained(stage, request, "bm25 rank", 1.0, tmp_path)
    assert len(stage.retrieve(request).papers)


def test_no_candidates_give_an_empty_ranking(library: Library, stage: LTR, tmp_path: Path) -> None:
    trained(stage, Request(LocalCollection(library), QUERY), "bm25 rank", 1.0, tmp_path)
    assert len(stage.retrieve(Request(LocalCollection(library), Query("local", context="zzzz TARGETCIT qqqq"))).papers) == 0
