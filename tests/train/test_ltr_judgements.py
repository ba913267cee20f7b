"""Learning to rank from judgements: the corrected model follows them; where they do not help, nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.feedback import Feedback, citing_text
from citewell.fuse.ltr import LTR, _loaded
from citewell.judgements import JudgedText, Judgement, Mark, encode
from citewell.library import Library
from citewell.models.trees import Trees
from citewell.papers import TARGET_MARK, Query
from citewell.pipeline.registry import definitions, pipeline
from citewell.train.judged_examples import collect_judged, combine

pytest.importorskip("lightgbm")

RECIPE = """
about = "A tiny model"
kind = "ltr"
pipeline = "tiny-learned"
tasks = ["local"]
sample = 30
seed = 1

[trees]

[judgements]
minimum = 10
folds = 3
unjudged = 0.2
p = 0.05

[judgements.trees]
rounds = 40
learning_rate = 0.2
num_leaves = 3
min_data_in_leaf = 2
num_threads = 1
"""
PIPELINES = """
[tiny-learned]
about = "BM25, ranked by trees"
stages = [{ kind = "ltr", of = ["bm25"], also = ["bm25-contexts"], depth = 20, size = 20 }]
"""
TOPICS = [f"{first}{second}" for first in ("anchor", "barge", "canal", "dock", "ferry") for second in ("bo", "ka", "mu", "tri")]
Run = Callable[..., Any]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """For each topic an old and a new paper with the same words: only the year tells them apart."""
    papers = [
        {"id": f"{topic}-{year}", "title": f"About {topic}", "abstract": f"We study {topic}.", "year": year}
        for topic in TOPICS
        for year in (1990, 2020)
    ]
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    with Library(tmp_path / "library") as made:
        made.add([tmp_path / "papers.jsonl"])
    return tmp_path / "library"


@pytest.fixture
def recipe(tmp_path: Path, models: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe, its pipeline, and a trained model that prefers old papers."""
    (tmp_path / "pipelines.toml").write_text(PIPELINES)
    monkeypatch.setenv("CITEWELL_PIPELINES", str(tmp_path / "pipelines.toml"))
    definitions.cache_clear()
    (tmp_path / "tiny-ltr.toml").write_text(RECIPE)
    with Library(library) as opened:
        from citewell.collection.local import LocalCollection
        from citewell.ranking.request import Request

        stage = pipeline("tiny-learned").stages[0]
        assert isinstance(stage, LTR)
        _, table = stage.candidate_features(Request(LocalCollection(opened), Query("local", context=TOPICS[0])))
    (models / "ltr").mkdir()
    _one_split(table.names, "age", 10.0, 0.0, 0.3).save(models / "ltr" / "local.npz")
    _one_split(table.names, "age", 10.0, 0.0, 0.3).save(models / "ltr" / "global.npz")
    return tmp_path / "tiny-ltr.toml"


def _one_split(names: tuple[str, ...], feature: str, threshold: float, low: float, high: float) -> Trees:
    """A tree with one split: `low` up to the threshold, `high` above."""
    column = names.index(feature)
    whole = np.int32
    return Trees(
        names,
        np.array([column, 0, 0], whole),
        np.array([threshold, 0.0, 0.0]),
        np.array([1, 1, 2], whole),
        np.array([2, 1, 2], whole),
        np.array([(low + high) / 2, low, high]),
        np.zeros(3, bool),
        np.zeros(3, bool),
        np.array([0], whole),
    )


def _text(topic: str) -> JudgedText:
    return citing_text("local", "", "", f"It was shown for {topic} {TARGET_MARK} before.")


def _mark(topic: str, year: int, mark: Mark, judge: str = "") -> Judgement:
    return Judgement(judge, topic, _text(topic), f"{topic}-{year}", mark)


def _first(library: Path, topic: str) -> str:
    _loaded.cache_clear()
    with Library(library) as opened:
        return pipeline("tiny-learned").suggest(opened, Query("local", context=_text(topic).context), 1)[0].paper.id


@pytest.fixture
def run(recipe: Path, library: Path, tmp_path: Path) -> Run:
    def command(judgements: list[Judgement], out: Path, *more: str) -> Any:
        (tmp_path / "judged.jsonl").write_bytes(b"".join(map(encode, judgements)))
        arguments = ["train", str(recipe), "--judgements", str(tmp_path / "judged.jsonl"), "--library", str(library)]
        done = CliRunner().invoke(cli, [*arguments, "--out", str(out), *more], catch_exceptions=False)
        return json.loads(done.stdout) if "--json" in more else done.output

    return command


def test_the_corrected_model_follows_judgements_that_contradict_the_trained_one(
    run: Run, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen = TOPICS[-1]
    assert _first(library, unseen) == f"{unseen}-1990", "the trained model prefers old papers"
    judged = [
        judgement for topic in TOPICS[:-1] for judgement in (_mark(topic, 2020, "relevant"), _mark(topic, 1990, "irrelevant"))
    ]
    about = run(judged, tmp_path / "mine" / "ltr", "--json")
    trial = about["tasks"]["local"]
    assert about["written"] == ["local"] and trial["better"] and trial["queries"] == len(TOPICS) - 1
    assert trial["before"]["RR"] < 0.6 and trial["after"]["RR"] > 0.9
    assert {path.name for path in (tmp_path / "mine" / "ltr").glob("*.npz")} == {"local.npz", "global.npz"}, "others are copied"
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "mine"))
    assert _first(library, unseen) == f"{unseen}-2020"
    # A second training goes on from the first trained model, not from the corrected one, whose judgements would count twice.
    again = run(judged, tmp_path / "again" / "ltr", "--json")
    assert again["base"] == about["base"] and again["tasks"] == about["tasks"]
    monkeypatch.delenv("CITEWELL_MODELS")


def test_accepted_suggestions_alone_teach(run: Run, recipe: Path, library: Path, tmp_path: Path) -> None:
    feedback = Feedback(library)
    feedback.turn_on()
    for topic in TOPICS[:-1]:
        feedback.record(_text(topic), f"{topic}-2020", "relevant")
    arguments = ["train", str(recipe), "--feedback", "--library", str(library), "--out", str(tmp_path / "mine"), "--json"]
    about = json.loads(CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout)
    assert about["written"] == ["local"] and about["tasks"]["local"]["after"]["RR"] > 0.9


def test_useless_judgements_write_nothing_unless_they_must(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    agreeing = [_mark(topic, 1990, "relevant") for topic in TOPICS]
    said = run(agreeing, out)
    assert "not significantly better" in said and "Nothing was written" in said and not out.exists()
    assert run(agreeing, out, "--anyway", "--json")["written"] == ["local"]
    assert (out / "local.npz").is_file()


def test_too_few_judgements_are_an_error(run: Run, tmp_path: Path) -> None:
    few = [_mark(topic, 2020, "relevant") for topic in TOPICS[:9]] + [_mark(topic, 2020, "irrelevant") for topic in TOPICS[9:]]
    with pytest.raises(CitewellError, match=r"\(local 9\): at least 10 .* judge more .* 11 queries left out: no paper"):
        run(few, tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


def test_a_query_whose_answers_are_in_the_library_is_left_out(tiny: Library) -> None:
    text = JudgedText("local", context=f"Boats were counted from photographs {TARGET_MARK}", known=("gulls",))
    stage = LTR((pipeline("bm25"),))
    queries = combine(
        [
            Judgement("", "theirs", text, "harbour", "relevant"),
            Judgement("", "theirs", text, "gulls", "irrelevant"),
            Judgement("", "theirs", text, "nowhere", "irrelevant"),
            Judgement("", "own", msgspec.structs.replace(text, citing="tides"), "harbour", "relevant"),
            Judgement("", "dismissed", text, "gulls", "irrelevant"),
        ]
    )
    collected, left = collect_judged(queries, tiny, stage)
    assert (left.in_library, left.unknown, left.without_relevant) == (1, 1, 1)
    examples = collected["local"].examples
    assert examples.labels.sum() == 1 and collected["local"].judged.sum() == 2
    known = examples.rows[:, examples.names.index("co-cited with bibliography")]
    assert np.isnan(known).all(), "what was judged is not among the draft's known papers"


def test_judges_are_combined_by_majority() -> None:
    marks = [
        *(_mark("dock", 2020, mark, judge) for judge, mark in (("a", "relevant"), ("b", "relevant"), ("c", "irrelevant"))),  # type: ignore[arg-type]
        *(_mark("dock", 1990, mark, judge) for judge, mark in (("a", "relevant"), ("b", "irrelevant"))),  # type: ignore[arg-type]
        _mark("ferry", 1990, "irrelevant", "a"),
        _mark("ferry", 1990, "unclear", "a"),
        _mark("ferry", 2020, "irrelevant", "a"),
    ]
    dock, ferry = combine(marks)
    assert (dock.relevant, dock.irrelevant) == (("dock-2020",), ()), "a tie is no judgement"
    assert (ferry.relevant, ferry.irrelevant) == ((), ("ferry-2020",)), "the last mark of a judge counts"
