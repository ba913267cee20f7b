"""Sentences of full texts, re-ranked by the shipped models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.library import Library
from citewell.papers import Query, Ranking
from citewell.ranking.request import Request
from citewell.rerank.sentence_boost import SentenceBoost
from citewell.rerank.sentence_cross_encoder import SentenceCrossEncoder
from citewell.retrieve.sentences import Sentences
from tests.library.vectors.test_vectors import add

QUERY = Query("evidence", context="Does aspirin lower the risk of heart attacks?")
ANSWER = "Patients who took acetylsalicylic acid had fewer myocardial infarctions."
FILLER = [f"The questionnaire of ward {ward} asked {ward + 3} nurses how shifts are planned." for ward in range(60)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    made = Library(Path(tmp_path_factory.mktemp("close") / "library"))
    records = [
        {"id": "full", "title": "A trial", "sentences": [*FILLER[:5], ANSWER, *FILLER[5:]]},
        {"id": "short", "title": "Another", "abstract": f"{FILLER[0]} {FILLER[1]} Heart attacks have many causes."},
    ]
    add(made, records)  # type: ignore[arg-type]
    made.reload()
    return made


def test_the_answer_in_a_full_text_comes_first_and_no_sentence_is_lost(library: Library) -> None:
    request = Request(LocalCollection(library), QUERY)
    full, short = library.number("full"), library.number("short")
    ranking = SentenceBoost(reread={"evidence": 20}).sentences(request, Ranking.empty(), [full, short])
    assert ranking.places[ranking.papers == full][0] == 5
    assert sorted(ranking.places[ranking.papers == full].tolist()) == list(range(61))
    assert sorted(ranking.places[ranking.papers == short].tolist()) == [0, 1, 2]
    assert (np.diff(ranking.scores) <= 0).all()


def test_abstracts_and_tasks_that_cannot_pay_are_not_read(library: Library) -> None:
    request = Request(LocalCollection(library), QUERY)
    near = Sentences(optional=True).nearest_sentences(request, [library.number("short")])
    scores = np.linspace(1, -1, len(near.scores))
    assert SentenceCrossEncoder().scores(request, near, scores, most=5) is scores
    numbers = [library.number("full")]
    gap = Request(LocalCollection(library), Query("local", context=QUERY.context))
    plain = Sentences(optional=True).nearest_sentences(gap, numbers)
    assert (
        SentenceBoost(reread={"evidence": 20}).sentences(gap, Ranking.empty(), numbers).places.tolist() == plain.places.tolist()
    )


def test_only_so_many_are_read(library: Library) -> None:
    request = Request(LocalCollection(library), QUERY)
    near = Sentences(optional=True).nearest_sentences(request, [library.number("full")])
    reading = SentenceCrossEncoder(bm25_weight=0.0, early_weight=0.0)
    scores = reading.scores(request, near, near.scores, most=7)
    assert (scores == scores.min()).sum() >= 61 - 7, "what is not read is as the worst that is"
