"""The similarity of the gap to the contexts that cite a paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.collection.local import LocalCollection
from citewell.errors import CitewellError
from citewell.library import Library
from citewell.papers import Context, Paper, Query, Reference
from citewell.pipeline.api import suggest
from citewell.pipeline.registry import pipeline
from citewell.ranking.request import Request
from citewell.rerank.context_similarity import ContextSimilarity


def library(folder: Path, contexts: dict[str, list[str]], citing: str = "review") -> Library:
    """Papers named by the keys of `contexts`, each cited by another paper in these contexts."""
    made = Library(folder)
    made.take(
        [
            *(Paper(f"Paper of {name}", id=name, ids=[f"doi:10.1/{name}"]) for name in contexts),
            Paper("A review", id=citing, ids=[f"doi:10.1/{citing}"]),
            *(
                Context(text, [Reference([f"doi:10.1/{name}"])], f"doi:10.1/{citing}", id=f"{name}{at}")
                for name, texts in contexts.items()
                for at, text in enumerate(texts)
            ),
        ]
    )
    return made


def scores(made: Library, query: Query, **numbers: float) -> dict[str, float]:
    names = {num: paper.id for num, paper in made.store.papers(range(1, 20)).items()}
    values = ContextSimilarity(**numbers).score(Request(LocalCollection(made), query), np.array(sorted(names), np.int64))  # type: ignore[arg-type]
    return dict(zip([names[num] for num in sorted(names)], np.nan_to_num(values).tolist(), strict=True))


def test_one_context_in_the_same_words_is_enough(tmp_path: Path) -> None:
    contexts = {
        "much": ["boats are many TARGETCIT", "harbours are old TARGETCIT", "gulls disturb the count TARGETCIT"],
        "little": ["boats disturb TARGETCIT", "boats disturb TARGETCIT", "boats disturb TARGETCIT"],
        "never": [],
    }
    made = library(tmp_path, contexts)
    values = scores(made, Query("local", context="gulls disturb every count TARGETCIT"), decay=0.0)
    assert values["much"] > values["little"] > values["never"] == 0 == values["review"]
    assert scores(made, Query("local", context="gulls disturb every count TARGETCIT"))["little"] > values["little"]
    best = suggest(made, Query("local", context="gulls disturb every count TARGETCIT"), "context-similarity")[0]
    assert best.paper.id == "much" and "Other papers cite it in words like yours." in " ".join(
        reason.text for reason in best.reasons
    )


def test_words_count_by_their_distance_from_the_citation_there(tmp_path: Path) -> None:
    between = " ".join(["and"] * 3 + [f"word{number}" for number in range(12)])
    made = library(tmp_path, {"near": [f"{between} gulls TARGETCIT"], "far": [f"gulls {between} TARGETCIT"], "no": ["gulls"]})
    values = scores(made, Query("local", context="gulls TARGETCIT"))
    assert values["near"] > 2 * values["far"] > 0
    assert values["no"] > 0, "the words of a context without a mark count too"


def test_a_repeated_word_counts_once(tmp_path: Path) -> None:
    made = library(tmp_path, {"once": ["gulls TARGETCIT"], "often": ["gulls gulls gulls TARGETCIT"]})
    values = scores(made, Query("local", context="gulls and boats TARGETCIT"))
    assert values["once"] == pytest.approx(values["often"])


def test_contexts_of_the_draft_itself_do_not_count(tmp_path: Path) -> None:
    made = library(tmp_path, {"boats": ["gulls TARGETCIT"]}, citing="draft")
    query = Query("local", context="gulls TARGETCIT")
    assert scores(made, query)["boats"] > 0
    query.exclude = ["doi:10.1/draft"]
    assert scores(made, query)["boats"] == 0


def test_of_a_paper_that_is_cited_often_the_last_contexts_are_looked_at(tmp_path: Path) -> None:
    made = library(tmp_path, {"boats": ["gulls TARGETCIT", "harbours TARGETCIT", "piers TARGETCIT"]})
    assert scores(made, Query("local", context="gulls TARGETCIT"), latest=2)["boats"] == 0
    assert scores(made, Query("local", context="piers TARGETCIT"), latest=2)["boats"] > 0


def test_other_tasks_and_empty_queries_are_answered_too(tmp_path: Path) -> None:
    made = library(tmp_path, {"boats": ["gulls disturb TARGETCIT"]})
    assert scores(made, Query(title="Gulls"))["boats"] > 0
    assert set(scores(made, Query()).values()) == {0.0}


def test_numbers_that_make_no_sense_are_refused() -> None:
    for wrong in ({"decay": 2.0}, {"latest": 0}, {"depth": 0}):
        with pytest.raises(CitewellError, match="context-similarity needs"):
            pipeline("context-similarity", **wrong)
