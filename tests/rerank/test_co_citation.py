"""CoCitation: papers that are often co-cited with the top results rise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Paper, Query, Ranking, Reference
from citewell.ranking.request import Request
from citewell.rerank.co_citation import CoCitation

ADDED = CoCitation(added={"paragraph": 1.0}, seeds=1)


@pytest.fixture
def made(tmp_path: Path) -> Library:
    """Three reviews cite `first` and `friend`, a fourth cites `friend` and `stranger`."""
    cited = [["first", "friend"]] * 3 + [["friend", "stranger"]]
    library = Library(tmp_path)
    library.take(
        [
            *(Paper(f"Of {name}", id=name, ids=[f"doi:10.1/{name}"]) for name in ("first", "stranger", "friend", "last")),
            *(
                Paper(f"Review {at}", ids=[f"doi:10.1/r{at}"], references=[Reference([f"doi:10.1/{name}"]) for name in names])
                for at, names in enumerate(cited)
            ),
        ]
    )
    return library


def ranking(library: Library) -> Ranking:
    numbers = [library.store.find(f"doi:10.1/{name}") for name in ("first", "stranger", "friend", "last")]
    return Ranking(np.array(numbers, np.int64), np.array([4.0, 3.0, 2.9, 0.5], np.float32))


def refined(stage: CoCitation, request: Request) -> list[str]:
    assert isinstance(request.collection, LocalCollection)
    result = stage.rerank(request, ranking(request.collection.library))
    assert (np.diff(result.scores) <= 0).all()
    records = request.collection.records(result.papers)
    return [records[number].id for number in result.papers.tolist()]


def test_papers_co_cited_with_the_top_results_rise(made: Library) -> None:
    assert refined(ADDED, Request(LocalCollection(made), Query("paragraph"))) == ["first", "friend", "stranger", "last"]
    two = CoCitation(added={"paragraph": 1.0}, seeds=2)
    assert refined(two, Request(LocalCollection(made), Query("paragraph")))[1] == "friend", "the best two count, the first most"


def test_a_task_that_is_not_named_is_left_as_it_was(made: Library) -> None:
    assert refined(ADDED, Request(LocalCollection(made), Query("local"))) == ["first", "stranger", "friend", "last"]


def test_papers_that_are_not_reranked_come_last(made: Library) -> None:
    short = CoCitation(added={"paragraph": 2.0}, seeds=1, depth=2)
    assert refined(short, Request(LocalCollection(made), Query("paragraph"))) == ["first", "stranger", "friend", "last"]
    nothing = Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert not len(ADDED.rerank(Request(LocalCollection(made), Query("paragraph")), nothing).papers)


def test_the_reason_names_the_paper_that_it_is_co_cited_with(made: Library) -> None:
    request = Request(LocalCollection(made), Query("paragraph"))
    result = ADDED.rerank(request, ranking(made))
    papers = result.papers.tolist()
    texts = [reason.text for reasons in ADDED.explain(request, result, papers).values() for reason in reasons]
    assert texts == ["Cited together with “Of first”, a top result (3 papers)."]
    local = Request(LocalCollection(made), Query("local"))
    unchanged = ADDED.rerank(local, ranking(made))
    assert not ADDED.explain(local, unchanged, papers), "no reason where nothing changed"


def test_numbers_that_make_no_sense_are_refused() -> None:
    for numbers in ({"seeds": 0}, {"seeds": 9, "depth": 8}):
        with pytest.raises(CitewellError, match="seeds"):
            CoCitation(**numbers)  # type: ignore[arg-type]
