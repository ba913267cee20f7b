"""Re-ranking the top papers: they come first, by their new scores alone or added to the earlier ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from citewell.papers import Query, Ranking
from citewell.ranking.request import Request
from citewell.rerank import cross_encoder as stages
from citewell.rerank.cross_encoder import Rerank

COLLECTION = SimpleNamespace(texts=lambda text, papers: {number: number for number in papers.tolist()})
"""A collection in which the text of a paper is its number."""
BEFORE = Ranking(np.array([4, 3, 2, 1], np.int64), np.array([4.0, 3.0, 2.0, 1.0], np.float32))


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A model that scores papers with low numbers higher; returns the texts that it read."""
    texts_read: list[int] = []

    def scores(query: Query, texts: list[int]) -> Any:
        texts_read.extend(texts)
        return -np.array(texts, np.float32)

    monkeypatch.setattr(stages.cross_encoder, "load", lambda name: SimpleNamespace(scores=scores))
    return texts_read


def ranked(stage: Rerank, task: str) -> list[int]:
    ranking = stage.rerank(Request(COLLECTION, Query(task)), BEFORE)  # type: ignore[arg-type]
    assert (np.diff(ranking.scores) <= 0).all()
    return ranking.papers.tolist()


def test_reranked_papers_come_first_and_the_rest_keep_their_order(read: list[int]) -> None:
    assert ranked(Rerank(depth=3), "local") == [2, 3, 4, 1]
    assert sorted(read) == [2, 3, 4]


def test_scores_can_be_added_to_earlier_scores(read: list[int]) -> None:
    added = Rerank(depth=3, added={"local": 0.5, "global": 1.5})
    assert ranked(added, "local") == [4, 3, 2, 1], "half of what reading says is not enough"
    assert ranked(added, "global") == [2, 3, 4, 1]
    read.clear()
    assert ranked(added, "paragraph") == [4, 3, 2, 1] and not read, "what is of another task is not even read"
