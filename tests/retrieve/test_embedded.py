"""Retrieval by trained vectors, compared with a slow implementation of its definition, on random vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.expand.navigate import Navigate
from citewell.fuse.reciprocal_rank import ReciprocalRank
from citewell.library import Library
from citewell.library.trained_models import TrainedModel, load_model, model_folder, trained_models, untrained
from citewell.papers import Query
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from citewell.retrieve.embedded import PaperEmbeddings
from citewell.text.analysis import terms
from citewell.train.save import save_arrays

WORDS = "boats gulls harbour tides photographs wings fog"


@pytest.fixture
def made_up(tiny: Library) -> Library:
    """A library with a model of random vectors; the paper on tides has none, the review none as a cited one."""
    draw = np.random.default_rng(1)
    papers = np.array([num for num in tiny.index.listed("own") if num != tiny.number("tides")])
    words = np.sort(list(terms(WORDS)))
    arrays: dict[str, Any] = {
        "papers": papers,
        "words": words,
        "words_in": draw.normal(size=(len(words), 6)).astype(np.float32),
        "docs_in": draw.normal(size=(len(papers), 6)).astype(np.float32),
        "docs_out": draw.normal(size=(len(papers), 6)).astype(np.float32),
    }
    arrays["docs_out"][papers == tiny.number("review")] = 0
    lengths = {f"lengths_of_{side}": np.linalg.norm(arrays[side], axis=1) for side in ("docs_in", "docs_out")}
    save_arrays(model_folder(tiny, "made-up"), {**arrays, **lengths}, {})
    return tiny


def slowly(library: Library, text: str, known: list[str], side: str, similarity: str) -> dict[int, float]:
    model = load_model(library, "made-up")
    rows = {int(term): row.astype(float) for term, row in zip(model["words"], model["words_in"], strict=True)}
    parts = [rows[term] for term, (_, times) in terms(text).items() if term in rows for _ in range(int(times))]
    parts += [model["docs_in"][model["papers"].tolist().index(library.number(name))].astype(float) for name in known]
    query = np.mean(parts, axis=0)
    expected = {}
    for num, vector in zip(model["papers"].tolist(), model[side].astype(float), strict=True):
        if vector.any():
            cosine = vector @ query / np.linalg.norm(vector) / np.linalg.norm(query)
            expected[num] = (1 + cosine) / 2 if similarity == "cosine" else 1 / (1 + np.exp(-vector @ query))
    return expected


@pytest.mark.parametrize("similarity", ["cosine", "product"])
@pytest.mark.parametrize("known", [[], ["gulls"]])
def test_scores_are_those_of_the_definition(made_up: Library, similarity: str, known: list[str]) -> None:
    text = "Boats and more boats in fog, seen by gulls and by nobody"
    request = Request(LocalCollection(made_up), Query(title=text, known=known))
    papers = made_up.index.listed("own")
    sides = {side: slowly(made_up, text, known, f"docs_{side}", similarity) for side in ("in", "out")}
    both = {num: (score + sides["in"][num]) / 2 for num, score in sides["out"].items()}
    for vectors, expected in (*sides.items(), ("in+out", both)):
        stage = PaperEmbeddings("made-up", vectors, similarity)
        ranking = stage.retrieve(request)
        assert dict(zip(ranking.papers.tolist(), ranking.scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5)
        assert ranking.scores.tolist() == sorted(ranking.scores, reverse=True)
        assert stage.score(request, papers).tolist() == pytest.approx(
            [expected.get(num, np.nan) for num in papers.tolist()], rel=1e-5, nan_ok=True
        )


def test_filters_apply_and_removed_papers_stay_away(made_up: Library) -> None:
    stage = PaperEmbeddings("made-up")
    number = made_up.number

    def retrieved(**filters: Any) -> set[int]:
        return set(stage.retrieve(Request(LocalCollection(made_up), Query(title="boats", **filters))).papers.tolist())

    assert retrieved() == {number("harbour"), number("gulls"), number("review")}
    assert retrieved(before=2018) == {number("harbour"), number("gulls")}
    assert retrieved(exclude=["gulls"]) == {number("harbour"), number("review")}
    assert untrained(made_up, "made-up") == 1
    gulls = number("gulls")
    made_up.remove(["gulls"])
    assert gulls not in retrieved()


def test_a_query_without_a_known_word_finds_nothing(made_up: Library) -> None:
    stage = PaperEmbeddings("made-up")
    request = Request(LocalCollection(made_up), Query(title="entirely unrelated"))
    assert not len(stage.retrieve(request).papers)
    assert stage.explain(request, stage.retrieve(request), [made_up.number("harbour")]) == {}


def test_reasons_are_the_nearest_words(made_up: Library) -> None:
    request = Request(LocalCollection(made_up), Query(title=WORDS))
    model = load_model(made_up, "made-up")
    harbour = made_up.number("harbour")
    stage = PaperEmbeddings("made-up")
    reason = stage.explain(request, stage.retrieve(request), [harbour, made_up.number("tides")])
    assert list(reason) == [harbour]
    paper = model["docs_in"][model["papers"].tolist().index(harbour)]
    nearness = {
        word: model["words_in"][model["words"].tolist().index(term)]
        @ paper
        / np.linalg.norm(model["words_in"][model["words"].tolist().index(term)])
        for term, (word, _) in terms(WORDS).items()
    }
    expected = [word for word in sorted(nearness, key=lambda word: -nearness[word]) if nearness[word] > 0][:5]
    assert reason[harbour][0].data == expected


def test_errors_say_what_to_do(tiny: Library) -> None:
    with pytest.raises(CitewellError, match="has no model 'lda'; run 'citewell train lda --library"):
        pipeline("lda").rank(Request(LocalCollection(tiny), Query(title="boats")))
    with pytest.raises(CitewellError, match="no vectors 'sideways'"):
        pipeline("hyperdoc2vec", vectors="sideways")
    with pytest.raises(CitewellError, match=r"no similarity 'taste'\. Choose one of cosine, product"):
        pipeline("hyperdoc2vec", similarity="taste")


def test_a_damaged_model_is_an_error(made_up: Library) -> None:
    file = next(model_folder(made_up, "made-up").glob("*.arrays"))
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(CitewellError, match=r"is damaged .* run 'citewell train made-up"):
        PaperEmbeddings("made-up").retrieve(Request(LocalCollection(made_up), Query(title="boats")))


def test_notes_count_the_papers_that_came_later(made_up: Library) -> None:
    (note,) = Pipeline.of(PaperEmbeddings("made-up")).notes(made_up)
    assert note.startswith("1 paper was added after 'made-up' was trained, so it cannot find it. ")
    made_up.remove(["tides"])
    assert Pipeline.of(PaperEmbeddings("made-up")).notes(made_up) == []


def test_a_pipeline_has_the_notes_of_its_parts_once_each(made_up: Library) -> None:
    alone = Pipeline("alone", "", (PaperEmbeddings("made-up"),))
    fused = Pipeline("fused", "", (ReciprocalRank((alone, pipeline("bm25"), alone)),))
    by = Pipeline("by", "", (*pipeline("bm25").stages, Navigate(alone)))
    assert alone.notes(made_up) == fused.notes(made_up) == by.notes(made_up)
    assert len(alone.notes(made_up)) == 1
    assert pipeline("bm25").notes(made_up) == []


def test_the_models_of_a_library_are_listed(made_up: Library) -> None:
    assert trained_models(made_up) == [TrainedModel("made-up", 3, 1)]


def test_a_damaged_model_is_listed_as_such(made_up: Library) -> None:
    next(model_folder(made_up, "made-up").glob("*.arrays")).unlink()
    (damaged,) = trained_models(made_up)
    assert "is damaged" in damaged.damage and "citewell train made-up" in damaged.damage


def test_a_pipeline_knows_the_models_of_its_parts() -> None:
    assert pipeline("hybrid23").models() == {"hyperdoc2vec"}
    assert pipeline("lda").models() == {"lda"}
    assert pipeline("navigate").models() == set()
