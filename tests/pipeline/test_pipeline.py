"""Pipelines by name, and the reasons they give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citewell import CitewellError, Library, Query, suggest
from citewell.pipeline.registry import ALIASES, _warn_renamed, definitions, pipeline


@pytest.fixture
def library(tmp_path: Path) -> Library:
    records = [
        {"id": "lda", "title": "Topic models of documents", "year": 2003, "venue": "JMLR"},
        {"id": "user", "title": "Using topic models", "year": 2010, "venue": "ACL", "references": ["lda"]},
        {"id": "survey", "title": "A survey of models", "year": 2015, "references": ["lda", "user", "elsewhere"]},
        {"id": "other", "title": "Cooking rice", "year": 2012},
        {"id": "c1", "citing": "survey", "cited": ["lda"], "text": "inference by Gibbs sampling as in TARGETCIT"},
    ]
    (tmp_path / "papers.jsonl").write_text("\n".join(map(json.dumps, records)))
    library = Library(tmp_path / "library")
    library.add([tmp_path / "papers.jsonl"])
    return library


def suggested(library: Library, name: str, **query: object) -> list[str]:
    return [s.paper.id for s in suggest(library, Query(**query), name)]  # type: ignore[arg-type]


def test_reasons_name_words_and_citations(library: Library) -> None:
    first = suggest(library, Query(title="topic models of documents"))[0]
    assert first.paper.id == "lda"
    words, *_, citations = first.reasons
    assert (words.kind, words.data) == ("words", ["documents", "topic", "models"])
    assert citations.text == "Cited by 2 other suggestions."
    assert sorted(citations.data) == ["survey", "user"]


def test_cited_contexts_find_what_own_text_does_not(library: Library) -> None:
    assert suggested(library, "bm25", title="Gibbs sampling") == []
    assert suggested(library, "bm25-contexts", title="Gibbs sampling") == ["lda"]
    assert suggested(library, "bm25-citing", title="Gibbs sampling") == ["survey"]


def test_the_query_form_is_a_parameter(library: Library) -> None:
    query = {"title": "rice", "abstract": "topic models"}
    assert suggested(library, "bm25-title", **query) == ["other"]
    assert set(suggested(library, "bm25", **query)) == {"other", "lda", "user", "survey"}


def test_filters_are_masks(library: Library) -> None:
    assert suggested(library, "bm25", title="models", before=2010) == ["lda"]
    assert set(suggested(library, "bm25", title="models", since=2010)) == {"user", "survey"}
    assert suggested(library, "bm25", title="models", venue="acl") == ["user"]
    assert set(suggested(library, "bm25", title="models", exclude=["lda", "unknown"])) == {"user", "survey"}
    before = suggest(library, Query(title="models"), "bm25")
    after = suggest(library, Query(title="models", since=2004), "bm25")
    assert [s.score for s in after] == [s.score for s in before if s.paper.id != "lda"], "a filter changes no score"
    without = suggest(library, Query(title="models", exclude=["survey"]), "bm25")
    library.remove(["survey"])
    assert [s.score for s in without] == [s.score for s in suggest(library, Query(title="models"), "bm25")], (
        "excluded is as if it was not there"
    )


def test_a_removed_paper_is_not_suggested_even_by_an_old_reader(library: Library) -> None:
    assert suggested(library, "bm25", title="rice") == ["other"]
    index = library.index
    Library(library.folder).remove(["other"])
    library.index = index
    assert suggested(library, "bm25", title="rice") == []


def test_overrides_replace_parameters() -> None:
    assert pipeline("bm25", k1=0.5).stages[0].k1 == 0.5  # type: ignore[attr-defined]
    with pytest.raises(CitewellError, match="has a parameter 'magic'"):
        pipeline("bm25", magic=1)


def test_every_definition_can_be_built() -> None:
    assert all(pipeline(name).about for name in definitions())


def test_an_earlier_name_still_works_and_names_the_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    _warn_renamed.cache_clear()
    for old, new in ALIASES.items():
        assert old not in definitions() and new in definitions()
        assert pipeline(old).name == pipeline(old).name == new
        assert capsys.readouterr().err == f"citewell: the pipeline {old!r} is now called {new!r}\n", "once"


def test_pipelines_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "mine.toml"
    monkeypatch.setenv("CITEWELL_PIPELINES", str(own))
    own.write_text('[mine]\nabout = "BM25, gently"\nstages = [{ kind = "bm25", k1 = 0.4 }]\n')
    definitions.cache_clear()
    try:
        assert pipeline("mine").stages[0].k1 == 0.4  # type: ignore[attr-defined]
        assert pipeline("bm25").name == "bm25"
        for wrong in ("[mine", '[mine]\nabout = "no stages"\n', '[mine]\nabout = ""\nstages = [{ kind = "magic" }]\n'):
            own.write_text(wrong)
            definitions.cache_clear()
            with pytest.raises(CitewellError, match=r"mine\.toml"):
                pipeline("mine")
    finally:
        monkeypatch.undo()
        definitions.cache_clear()
