"""Company: what others cite together with the best of a ranking rises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Paper, Query, Ranking, Reference
from citewell.ranking.request import Request
from citewell.rerank.co_citation import Company

ADDED = Company(added={"paragraph": 1.0}, seeds=1)


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


def refined(stage: Company, request: Request) -> list[str]:
    found = stage.refine(request, ranking(request.library))
    assert (np.diff(found.scores) <= 0).all() and (found.scores > 0).all()
    records = request.library.store.papers(found.papers.tolist())
    return [records[num].id for num in found.papers.tolist()]


def test_what_is_cited_together_with_the_best_rises(made: Library) -> None:
    assert refined(ADDED, Request(made, Query("paragraph"))) == ["first", "friend", "stranger", "last"]
    two = Company(added={"paragraph": 1.0}, seeds=2)
    assert refined(two, Request(made, Query("paragraph")))[1] == "friend", "the best two count, the first most"


def test_a_task_that_is_not_named_is_left_as_it_was(made: Library) -> None:
    assert refined(ADDED, Request(made, Query("local"))) == ["first", "stranger", "friend", "last"]


def test_what_is_not_ranked_anew_stays_behind(made: Library) -> None:
    short = Company(added={"paragraph": 2.0}, seeds=1, depth=2)
    assert refined(short, Request(made, Query("paragraph"))) == ["first", "stranger", "friend", "last"]
    nothing = Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert not len(ADDED.refine(Request(made, Query("paragraph")), nothing).papers)


def test_the_reason_names_the_paper_that_keeps_it_company(made: Library) -> None:
    request = Request(made, Query("paragraph"))
    papers = ADDED.refine(request, ranking(made)).papers.tolist()
    found = ADDED.reasons(request, papers)
    assert [reason.text for reasons in found.values() for reason in reasons] == [
        "3 papers cite it together with “Of first”, which ranks among the first"
    ]
    assert not ADDED.reasons(Request(made, Query("local")), papers), "what was left as it was has no reason"


def test_numbers_that_make_no_sense_are_refused() -> None:
    for numbers in ({"seeds": 0}, {"seeds": 9, "depth": 8}):
        with pytest.raises(CitewellError, match="seeds"):
            Company(**numbers)  # type: ignore[arg-type]
