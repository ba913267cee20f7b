"""Making a study: which contexts are kept, and what the systems suggest for them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.queries import JudgedQuery
from citewell.evaluate.user_study.contexts import Filters, kept, shuffled, words
from citewell.evaluate.user_study.make import _components, make_from_set
from citewell.library import Library
from citewell.papers import Query
from citewell.pipeline.registry import pipeline
from citewell.user_study.study import Study
from tests.evaluate.small_set import small_set

SHORT = "Gulls disturb automatic counts of boats in the harbour photographs and cranes"
LONG = "Gulls disturb automatic counts of boats in harbour photographs TARGETCIT taken from cranes near lighthouses."


def _query(name: str, context: str, cited: str = "p", citing: str = "paper") -> JudgedQuery:
    return JudgedQuery(name, Query("local", context=context), [cited], citing=citing)


def test_filters_of_the_published_study() -> None:
    german = "Möwen stören die automatische Zählung der Boote auf Fotografien TARGETCIT aus dem Hafen und von den Kränen."
    queries = [
        _query("long", LONG),
        _query("same", LONG.lower(), "q"),
        _query("other paper", LONG, citing="other"),
        _query("other gap", LONG.replace(" TARGETCIT", "") + " TARGETCIT"),
        _query("german", german),
        _query("eight words", f"{SHORT} TARGETCIT OTHERCIT."),
    ]
    assert words(SHORT) == 8
    left, steps = kept(queries, Filters())
    assert [judged.id for judged in left] == ["long", "other paper", "other gap"]
    assert left[0].relevant == ["p", "q"]
    assert [step.left for step in steps] == [6, 5, 4, 3]
    assert len(kept(queries, Filters("", min_words=8, group_duplicates=False))[0]) == 6
    assert {judged.id for judged in kept(queries, Filters("de"))[0]} == {"german"}


def test_samples_are_random_and_repeatable() -> None:
    queries = [_query(str(number), LONG) for number in range(50)]
    sample = [judged.id for judged in shuffled(queries, 10, 3)]
    assert sample == [judged.id for judged in shuffled(queries, 10, 3)]
    assert len(set(sample)) == 10
    assert sample != sorted(sample, key=int)
    assert sample != [judged.id for judged in shuffled(queries, 10, 4)]


def test_a_study_of_a_set_has_the_rankings_of_its_systems(tmp_path: Path) -> None:
    folder = small_set(dates=True).write(tmp_path / "small")
    systems = [pipeline(name) for name in ("bm25", "bm25-contexts")]
    evaluation = Evaluation(folder, "local", seed=5)
    study = make_from_set(tmp_path / "study", evaluation, systems, contexts=6, k=4)
    assert Study.open(tmp_path / "study").contexts == study.contexts
    assert len(study.contexts) == 6
    years = {paper.id: paper.year for paper in study.papers.values()}
    for context in study.contexts:
        assert [len(ranking) for ranking in context.rankings.values()] == [4, 4]
        assert context.text.citing not in context.papers()
        assert all(years[paper] * 10_000 <= context.text.before for paper in context.papers())
    runs = tmp_path / "runs"
    evaluated = CliRunner().invoke(
        cli, ["evaluate", str(folder), "--task", "local", "--pipeline", "bm25", "--out", str(runs), "--json"]
    )
    assert evaluated.exit_code == 0, evaluated.output
    run: dict[str, list[str]] = {}
    for line in gzip.decompress((runs / "run-bm25.txt.gz").read_bytes()).decode().splitlines():
        query, _, paper, *_ = line.split()
        run.setdefault(query, []).append(f"small:{paper}")
    for context in study.contexts:
        assert context.rankings["bm25"] == run[context.id][:4]


def test_context_only_and_field_of_study(tmp_path: Path) -> None:
    made = small_set()
    for number, paper in enumerate(paper for paper in made.papers if paper["year"] == 2020):
        paper["keywords"] = ["Bird watching"] if number < 3 else []
    folder = made.write(tmp_path / "small")
    evaluation = Evaluation(folder, "local")
    study = make_from_set(
        tmp_path / "study", evaluation, [pipeline("bm25")], filters=Filters(field_of_study=["bird watching"]), context_only=True
    )
    assert {context.text.citing for context in study.contexts} == {f"small:p2020-{number}" for number in range(3)}
    assert all(not context.text.title and not context.text.abstract for context in study.contexts)
    with pytest.raises(CitewellError, match="no context of small passes the filters"):
        make_from_set(tmp_path / "none", evaluation, [pipeline("bm25")], filters=Filters(field_of_study=["birds"]))


def test_components_are_the_systems_that_another_fuses(tmp_path: Path) -> None:
    hybrid = [pipeline(name) for name in ("bm25-citing", "hyperdoc2vec", "hybrid")]
    assert _components(hybrid, []) == ["bm25-citing", "hyperdoc2vec"]
    assert _components(hybrid, ["hybrid"]) == ["hybrid"]
    assert _components([pipeline(name) for name in ("bm25", "navigate")], []) == ["bm25", "navigate"]
    with pytest.raises(CitewellError, match="--component bm25 is not among"):
        _components(hybrid, ["bm25"])


def test_a_study_from_a_library_and_a_file(tiny: Library, tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.jsonl"
    lines = [{"id": "one", "context": LONG}, {"context": LONG.replace("Gulls", "Birds"), "before": 2017, "title": "On birds"}]
    contexts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    arguments = ["study", "make", str(tmp_path / "study"), "--library", str(tiny.folder), "--from", str(contexts)]
    result = CliRunner().invoke(cli, [*arguments, "--pipeline", "bm25", "--judge", "Ana", "--json"])
    assert result.exit_code == 0, result.output
    study = Study.open(tmp_path / "study")
    assert study.settings.judges == ["Ana"]
    by_id = study.by_id
    assert set(by_id) == {"one", "context-2"}
    assert by_id["context-2"].text.title == "On birds"
    years = {study.papers[paper].year for paper in by_id["context-2"].papers()}
    assert years == {2015}
    again = CliRunner().invoke(cli, [*arguments, "--pipeline", "bm25"])
    assert "exists already" in str(again.exception)
