"""The stages that rank sentences by small networks over words, on a library of a few papers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.models import joint_snippets, semiser
from citewell.papers import Query
from citewell.pipeline.api import prepare
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from tests.models import word_models

KNOWN = ["boats", "gulls", "harbour", "tides", "photographs", "count"]
QUERY = Query("evidence", context="gulls and boats in the harbour")


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "models"))
    for known in (joint_snippets.load, semiser.load):
        known.cache_clear()
    yield tmp_path / "models"
    for known in (joint_snippets.load, semiser.load):
        known.cache_clear()


def names(library: Library, papers: np.ndarray) -> list[str]:  # type: ignore[type-arg]
    records = library.store.papers(papers.tolist())
    return [records[num].id for num in papers.tolist()]


def test_papers_and_sentences_are_ranked_by_the_scores_of_the_model(tiny: Library, models: Path) -> None:
    word_models.by_shared_words(models / "jpdrmm", KNOWN)
    request = Request(LocalCollection(tiny), QUERY)
    chosen = pipeline("jpdrmm")
    ranking = chosen.rank(request)
    assert names(tiny, ranking.papers)[0] == "harbour", "title and abstract hold all three words"
    best = chosen.sentences(request, ranking, ranking.papers.tolist())
    assert best.scores[0] == best.scores.max() and len(best.papers) == sum(
        map(len, tiny.store.quotable(ranking.papers.tolist()).values())
    )
    (texts,) = tiny.store.quotable([int(best.papers[0])]).values()
    assert texts[best.places[0]].text.startswith("We count boats from photographs of a harbour")
    assert best.scores[0] == pytest.approx(1.0)
    first = chosen.suggest(tiny, QUERY)[0]
    assert "gulls disturb the count" in first.sentences[0].text
    assert any("JPDRMM score: +1.00." in reason.text for reason in first.reasons)


def test_only_the_best_are_read(tiny: Library, models: Path) -> None:
    word_models.joint_snippets(models / "jpdrmm", KNOWN)
    request = Request(LocalCollection(tiny), QUERY)
    before = pipeline("bm25").rank(Request(LocalCollection(tiny), QUERY)).papers
    ranking = pipeline("jpdrmm", depth=2).rank(request)
    after = ranking.papers
    assert set(after[:2]) == set(before[:2]) and after[2:].tolist() == before[2:].tolist()
    assert len(pipeline("jpdrmm", depth=2).sentences(request, ranking, before[2:].tolist()).papers), (
        "others are scored on request"
    )


def test_semiser_ranks_the_sentences_of_the_whole_library(tiny: Library, models: Path) -> None:
    word_models.semiser(models / "semiser", KNOWN)
    request = Request(LocalCollection(tiny), QUERY)
    with pytest.raises(CitewellError, match="citewell library encode --pipeline"):
        pipeline("semiser").rank(request)
    prepare(tiny, "semiser")
    ranking = pipeline("semiser").rank(request)
    sentences = pipeline("semiser").sentences(request, ranking, ranking.papers.tolist())
    titles = {num: paper.title for num, paper in tiny.store.papers(ranking.papers.tolist()).items()}
    encoder = semiser.load("semiser")
    of_titles = semiser.max_cosine(encoder.query(QUERY.text()), encoder.sentences(list(titles.values())))
    best = dict(zip(titles, of_titles.tolist(), strict=True))
    for num, score in zip(sentences.papers.tolist(), sentences.scores.tolist(), strict=True):
        best[num] = max(best[num], score)
    assert dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True)) == pytest.approx(best, abs=2e-3)
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
    without = pipeline("semiser").rank(
        Request(LocalCollection(tiny), Query("evidence", context=QUERY.context, exclude=["harbour"]))
    )
    assert "harbour" not in names(tiny, without.papers) and len(without.papers) == len(ranking.papers) - 1
    first = int(ranking.papers[0])
    reasons = pipeline("semiser").explain(request, ranking, [first])[first]
    assert reasons[0].text == "One of its sentences is close to your text."


def test_hnsw_finds_what_the_exact_scan_finds(tiny: Library, models: Path) -> None:
    word_models.semiser(models / "semiser", KNOWN)
    with pytest.raises(CitewellError, match="Choose one of hnsw, exact"):
        pipeline("semiser", search="guess")
    prepare(tiny, "semiser-exact")
    with pytest.raises(CitewellError, match="have no index of 'semiser'"):
        pipeline("semiser").rank(Request(LocalCollection(tiny), QUERY))
    prepare(tiny, "semiser")
    for query in (QUERY, Query("evidence", context=QUERY.context, exclude=["harbour"]), Query("evidence", context="tides")):
        exact, first, few = (
            chosen.rank(Request(LocalCollection(tiny), query))
            for chosen in (pipeline("semiser-exact"), pipeline("semiser"), pipeline("semiser", candidates=1))
        )
        near = dict(zip(exact.papers.tolist(), exact.scores.tolist(), strict=True))
        assert first.papers.tolist() == few.papers.tolist() == [num for num in near if num in set(first.papers.tolist())]
        assert first.scores.tolist() == [near[num] for num in first.papers.tolist()]
        assert all(near[num] == 0.0 for num in near if num not in set(first.papers.tolist())), "they have no known word"
    number = int(first.papers[0])
    request = Request(LocalCollection(tiny), query)
    assert "(hnsw search)" in pipeline("semiser").explain(request, first, [number])[number][1].text


def test_vectors_of_sentences_follow_the_library(tiny: Library, models: Path) -> None:
    word_models.semiser(models / "semiser", KNOWN)
    prepare(tiny, "semiser")
    (made,) = (tiny.folder / "sentence-vectors").glob("*.arrays")
    prepare(tiny, "semiser")
    assert [made] == list((tiny.folder / "sentence-vectors").glob("*.arrays")), "made once"
    tiny.remove(["gulls"])
    tiny.reload()
    with pytest.raises(CitewellError, match="have no vectors"):
        pipeline("semiser").rank(Request(LocalCollection(tiny), QUERY))
    prepare(tiny, "semiser")
    assert "gulls" not in names(tiny, pipeline("semiser").rank(Request(LocalCollection(tiny), QUERY)).papers)
    assert not made.exists()


def test_semiser_after_another_stage(tiny: Library, models: Path) -> None:
    word_models.semiser(models / "semiser", KNOWN)
    word_models.joint_snippets(models / "jpdrmm", KNOWN)
    request = Request(LocalCollection(tiny), QUERY)
    words = pipeline("bm25").rank(request).papers
    chosen = pipeline("bm25-semiser")
    ranking = chosen.rank(request)
    assert ranking.papers.tolist() == words.tolist(), "papers keep their order"
    ranked = chosen.sentences(request, ranking, words.tolist())
    assert list(ranked.scores) == sorted(ranked.scores, reverse=True)
    reranked = pipeline("jpdrmm-semiser").rank(request).papers.tolist()
    best = [float(ranked.scores[ranked.papers == num].max()) for num in reranked]
    assert best == sorted(best, reverse=True), "papers by their best sentence"


def test_a_missing_model_is_named_with_its_recipe(tiny: Library) -> None:
    assert pipeline("jpdrmm-semiser").missing_weights() == ["jpdrmm", "semiser"]
    with pytest.raises(CitewellError, match="citewell train jpdrmm-graph --set DIR"):
        pipeline("jpdrmm-graph").rank(Request(LocalCollection(tiny), QUERY))
    with pytest.raises(CitewellError, match="citewell train semiser --set DIR"):
        request = Request(LocalCollection(tiny), QUERY)
        pipeline("bm25-semiser").sentences(request, pipeline("bm25-semiser").rank(request), [1])


@pytest.mark.parametrize(("name", "put"), [("ensemble-sum", np.add), ("ensemble-max", np.maximum)])
def test_ensembles_put_the_scores_of_two_models_together(tiny: Library, models: Path, name: str, put: np.ufunc) -> None:
    word_models.joint_snippets(models / "jpdrmm", KNOWN)
    word_models.joint_snippets(models / "jpdrmm-graph", KNOWN, seed=5)
    request = Request(LocalCollection(tiny), QUERY)
    parts = [pipeline("jpdrmm"), pipeline("jpdrmm-graph")]
    ranking = pipeline(name).rank(request)
    expected = put(*(part.score(request, ranking.papers) for part in parts))
    assert list(expected) == sorted(expected, reverse=True) and len(ranking.papers) == 4
    papers = ranking.papers.tolist()
    together = pipeline(name).sentences(request, ranking, papers)
    scores = []
    for part in parts:
        ranked = part.sentences(request, part.rank(request), papers)
        pairs = zip(ranked.papers.tolist(), ranked.places.tolist(), strict=True)
        scores.append(dict(zip(pairs, ranked.scores, strict=True)))
    for paper, place, score in zip(*(column.tolist() for column in together), strict=True):
        assert score == pytest.approx(put(scores[0][paper, place], scores[1][paper, place]))
    assert len(together.papers) == len(scores[0])


def test_an_ensemble_is_made_in_a_way_that_exists() -> None:
    with pytest.raises(CitewellError, match="Choose one of sum, max"):
        pipeline("ensemble-sum", how="mean")
