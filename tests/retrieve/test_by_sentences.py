"""Papers by their sentences, and sentences with their papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.library import Library
from citewell.library.vectors.encode import encode
from citewell.models import encoder
from citewell.papers import Query, Ranking
from citewell.ranking.request import Request
from citewell.ranking.sentences import quote
from citewell.rerank.sentence_boost import SentenceBoost
from citewell.retrieve.sentences import Sentences
from tests.library.vectors.test_vectors import Letters, add

QUERY = Query("evidence", context="cccc")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(encoder, "load", lambda name: Letters())
    library = Library(tmp_path / "library")
    records = [
        {"id": "one", "title": "of a", "abstract": "Aaaaaa aaaa. Ccccc. Bbbb bbbb."},
        {"id": "two", "title": "of b", "sentences": ["Bbbbbb bbbb.", "A cab.", "Bbbbbbbb."]},
        {"id": "none", "title": "cccc cccc"},
    ]
    add(library, records)  # type: ignore[arg-type]
    library.reload()
    return library


def places(library: Library, stage: Sentences | SentenceBoost, names: list[str]) -> list[tuple[str, int]]:
    numbers = [library.number(name) for name in names]
    ranking = stage.sentences(Request(LocalCollection(library), QUERY), Ranking.empty(), numbers)
    assert ranking is not None
    assert (np.diff(ranking.scores) <= 0).all()
    name_of = dict(zip(numbers, names, strict=True))
    return [(name_of[num], place) for num, place in zip(ranking.papers.tolist(), ranking.places.tolist(), strict=True)]


def test_a_paper_is_as_near_as_its_nearest_sentence(library: Library) -> None:
    encode(library, Letters(), "sentences")
    ranking = Sentences("letters").retrieve(Request(LocalCollection(library), QUERY))
    assert ranking.papers.tolist() == [library.number("one"), library.number("two")], "each once, and none without a sentence"
    exact = (Letters().encode(["Ccccc."]) @ Letters().encode(["cccc"])[0])[0]
    assert ranking.scores[0] == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("stored", [True, False])
def test_sentences_are_ranked_with_stored_vectors_and_without(library: Library, stored: bool) -> None:
    if stored:
        encode(library, Letters(), "sentences")
    ranked = places(library, Sentences("letters", optional=True), ["two", "none", "one"])
    assert ranked[:2] == [("one", 1), ("two", 1)] and len(ranked) == 6


@pytest.mark.parametrize("stored", [True, False])
def test_no_papers_give_no_sentences(library: Library, stored: bool) -> None:
    if stored:
        encode(library, Letters(), "sentences")
    assert places(library, Sentences("letters", optional=True), []) == []


def test_papers_and_their_sentences_raise_each_other(library: Library) -> None:
    one, two, none = (library.number(name) for name in ("one", "two", "none"))
    ranking = Ranking(np.array([none, two, one]), np.array([3.0, 2.9, 2.8], np.float32))
    request = Request(LocalCollection(library), QUERY)
    stage = SentenceBoost("letters", boost={"evidence": 4.0}, share=1.0)
    boosted = stage.rerank(request, ranking)
    assert boosted.papers.tolist() == [one, two, none]
    sentences = stage.sentences(request, boosted, [two, one])
    assert sentences.papers[0] == one and sentences.places[0] == 1
    elsewhere = Request(LocalCollection(library), Query("local", context="cccc"))
    unchanged = stage.rerank(elsewhere, ranking)
    assert unchanged.papers.tolist() == [none, two, one], "other tasks keep their order"
    lifted = stage.sentences(elsewhere, unchanged, [two, one])
    plain = Sentences("letters", optional=True).nearest_sentences(elsewhere, [two, one])
    rank_of = [ranking.papers.tolist().index(two) for ranking in (lifted, plain)]
    assert rank_of[0] <= rank_of[1], "the better paper's sentences come no later"


def test_a_quoted_sentence_has_its_neighbours(library: Library) -> None:
    request = Request(LocalCollection(library), QUERY)
    one, two = library.number("one"), library.number("two")
    sentences = quote(request, [one, two], Sentences("letters", optional=True).nearest_sentences(request, [one, two]), 3)
    neighbours = {each.text: (each.before, each.after) for quoted in sentences.values() for each in quoted}
    assert neighbours["Ccccc."] == ("Aaaaaa aaaa.", "Bbbb bbbb.")
    assert neighbours["Aaaaaa aaaa."] == ("", "Ccccc.") and neighbours["Bbbbbbbb."] == ("A cab.", "")
