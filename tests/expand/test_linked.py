"""Papers retrieved by citations only: the reasons name the linking paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.expand.links import Links
from citewell.library import Library
from citewell.papers import Paper, Query, Ranking, Reference
from citewell.ranking.request import Request


@pytest.fixture
def made(tmp_path: Path) -> Library:
    """`a` and `b` both cite `x` and `y`; `c` cites only `y`."""
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


def linked(library: Library, kind: str, start: str, **query: list[str]) -> dict[str, str]:
    """The papers linked to one paper, with their reasons."""
    request = Request(LocalCollection(library), Query("global", **query))  # type: ignore[arg-type]
    first = np.array([library.store.find(f"doi:10.1/{start}")], np.int64)
    stage = Links(link=kind)
    ranking = stage.rerank(request, Ranking(first, np.ones(1, np.float32)))
    papers = ranking.papers.tolist()
    reasons = stage.explain(request, ranking, papers)
    return {library.store.papers([num])[num].id: " ".join(reason.text for reason in reasons.get(num, [])) for num in papers}


def test_references_of_a_paper(made: Library) -> None:
    assert linked(made, "references", "c") == {"y": "Cited by “Of c”, a top match."}
    several = linked(made, "references", "a", known=["doi:10.1/c", "doi:10.1/b"])
    assert several["y"] == "Cited by “Of c”, which you cite, and by 2 more."


def test_papers_co_cited_with_a_paper(made: Library) -> None:
    reasons = linked(made, "co-citation", "x")
    assert reasons["y"] == "Cited together with “Of x”, a top match (2 papers)."
    assert not reasons["x"], "a paper is not co-cited with itself"


def test_papers_coupled_with_a_paper(made: Library) -> None:
    reasons = linked(made, "coupling", "c")
    assert reasons["a"] == "Cites 1 paper that “Of c”, a top match, cites too."


def test_two_equal_stages_explain_their_own_rankings(made: Library) -> None:
    request = Request(LocalCollection(made), Query("global"))
    one, other = (Links(link="references") for _ in range(2))
    cited = made.store.find("doi:10.1/y")
    assert cited is not None
    texts = []
    for stage, start in ((one, "a"), (other, "c")):
        first = np.array([made.store.find(f"doi:10.1/{start}")], np.int64)
        ranking = stage.rerank(request, Ranking(first, np.ones(1, np.float32)))
        texts.append(stage.explain(request, ranking, [cited])[cited][0].text)
    assert texts == ["Cited by “Of a”, a top match.", "Cited by “Of c”, a top match."]
