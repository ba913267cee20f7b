"""Papers by citation alone: the reasons name the paper that led there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.expand.linked import Linked
from citewell.library import Library
from citewell.papers import Paper, Query, Ranking, Reference
from citewell.ranking.request import Request


@pytest.fixture
def made(tmp_path: Path) -> Library:
    """`a` and `b` both cite `x` and `y`; `c` cites `y` alone."""
    cites = {"x": "", "y": "", "a": "xy", "b": "xy", "c": "y"}
    library = Library(tmp_path)
    library.take(
        [
            Paper(
                f"Of {name}", id=name, ids=[f"doi:10.1/{name}"], references=[Reference([f"doi:10.1/{each}"]) for each in cited]
            )
            for name, cited in cites.items()
        ]
    )
    return library


def found(library: Library, kind: str, start: str, **query: list[str]) -> dict[str, str]:
    """What is reached from one paper, and why."""
    request = Request(library, Query("global", **query))  # type: ignore[arg-type]
    first = np.array([library.store.find(f"doi:10.1/{start}")], np.int64)
    stage = Linked(kind_of_link=kind)
    papers = stage.refine(request, Ranking(first, np.ones(1, np.float32))).papers.tolist()
    reasons = stage.reasons(request, papers)
    return {library.store.papers([num])[num].id: " ".join(reason.text for reason in reasons.get(num, [])) for num in papers}


def test_what_a_paper_cites(made: Library) -> None:
    assert found(made, "references", "c") == {"y": "cited by “Of c”, one of the best matches"}
    several = found(made, "references", "a", known=["doi:10.1/c", "doi:10.1/b"])
    assert several["y"] == "cited by “Of c”, which the draft cites, and 2 more"


def test_what_is_cited_with_it(made: Library) -> None:
    reasons = found(made, "co-citation", "x")
    assert reasons["y"] == "2 papers cite it together with “Of x”, one of the best matches"
    assert not reasons["x"], "nothing keeps itself company"


def test_what_cites_the_same(made: Library) -> None:
    reasons = found(made, "coupling", "c")
    assert reasons["a"] == "cites 1 paper that “Of c”, one of the best matches, cites too"


def test_two_equal_stages_tell_of_their_own_starts(made: Library) -> None:
    request = Request(made, Query("global"))
    one, other = (Linked(kind_of_link="references") for _ in range(2))
    for stage, start in ((one, "a"), (other, "c")):
        first = np.array([made.store.find(f"doi:10.1/{start}")], np.int64)
        stage.refine(request, Ranking(first, np.ones(1, np.float32)))
    cited = made.store.find("doi:10.1/y")
    assert cited is not None
    said = [stage.reasons(request, [cited])[cited][0].text for stage in (one, other)]
    assert said == ["cited by “Of a”, one of the best matches", "cited by “Of c”, one of the best matches"]
