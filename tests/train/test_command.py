"""``citewell train``, and evaluations that train missing models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.library import Library
from citewell.train.training import train_missing
from tests.evaluate.small_set import small_set


def test_a_trained_model_serves_its_pipeline(small: Library) -> None:
    arguments = ["--library", str(small.folder), "--json"]
    about = json.loads(CliRunner().invoke(cli, ["train", "hyperdoc2vec", *arguments], catch_exceptions=False).stdout)
    assert about["papers"] == len(small) and about["recipe"]["name"] == "hyperdoc2vec"
    suggest = ["suggest", "--title", "ferry fog harbour", "--pipeline", "hyperdoc2vec", *arguments]
    assert json.loads(CliRunner().invoke(cli, suggest, catch_exceptions=False).stdout)["suggestions"]


def test_an_unknown_recipe_lists_all_recipes(small: Library) -> None:
    failed = CliRunner().invoke(cli, ["train", "magic", "--library", str(small.folder)])
    assert isinstance(failed.exception, CitewellError)
    assert "choose one of claims, cross-encoder, doc2vec" in str(failed.exception)


@pytest.mark.parametrize("dates", [False, True])
def test_an_evaluation_trains_missing_models_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dates: bool) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    folder = small_set(dates=dates).write(tmp_path / "set")

    def figures() -> dict[str, float]:
        measures = (
            Evaluation(folder, "local", sample=20, train=train_missing)
            .report(["bm25", "hybrid"])
            .as_json()["pipelines"]["hybrid"]
        )
        return {name: value for name, value in measures.items() if name != "seconds_per_query"}

    first = figures()
    cards = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cache/sets/*/models/hyperdoc2vec/card.json")}
    assert cards
    assert figures() == first
    assert cards == {path: path.stat().st_mtime_ns for path in tmp_path.glob("cache/sets/*/models/hyperdoc2vec/card.json")}
    # A model of another recipe is trained again.
    card = next(iter(cards))
    card.write_text(card.read_text().replace('"span": 40', '"span": 41'))
    assert figures() == first
    assert '"span": 40' in card.read_text()
