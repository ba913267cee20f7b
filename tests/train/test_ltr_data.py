"""Learning to rank, from collecting features with ``citewell train ltr`` to ranking."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.fuse.ltr import LTR
from citewell.pipeline.registry import definitions, pipeline
from citewell.train.recipe import HiddenFeatures, LtrRecipe, load_recipe
from tests.evaluate.small_set import small_set

lightgbm = pytest.importorskip("lightgbm")

RECIPE = """
about = "A tiny model"
kind = "ltr"
pipeline = "tiny-learned"
tasks = ["global", "local", "paragraph"]
sample = 30
seed = 1

[trees]
rounds = 20
patience = 5
learning_rate = 0.1
num_leaves = 4
min_data_in_leaf = 2
num_threads = 1
"""
NUMBERS = {"rounds": 20, "patience": 5, "num_leaves": 4, "min_data_in_leaf": 2, "num_threads": 1}
PIPELINES = """
[tiny-learned]
about = "BM25, ranked by trees"
stages = [{ kind = "ltr", of = ["bm25", "bm25-contexts"], also = ["bm25-proximity"], depth = 20 }]
"""


@pytest.fixture
def recipe(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines.toml").write_text(PIPELINES)
    monkeypatch.setenv("CITEWELL_PIPELINES", str(tmp_path / "pipelines.toml"))
    definitions.cache_clear()
    (tmp_path / "tiny-ltr.toml").write_text(RECIPE)
    return tmp_path / "tiny-ltr.toml"


def ltr_stage(name: str) -> LTR:
    stage = pipeline(name).stages[0]
    assert isinstance(stage, LTR)
    return stage


def run(recipe: Path, set_folder: Path, out: Path, *more: str) -> Any:
    arguments = ["train", str(recipe), "--set", str(set_folder), "--out", str(out), "--json", *more]
    return json.loads(CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout)


def test_trees_of_collected_examples_score_like_lightgbm(recipe: Path, set_folder: Path) -> None:
    from citewell.train.ltr import Examples, FeatureDropout, collect, train_trees

    examples = collect(Evaluation(set_folder, "local", "dev", 30), ltr_stage("tiny-learned"))
    assert len(examples.rows) == len(examples.labels) == examples.sizes.sum()
    assert examples.rows.shape[1] == len(examples.names) and len(set(examples.names)) == len(examples.names)
    assert np.isnan(examples.rows).any(), "unknown features are missing"
    starts = np.cumsum(examples.sizes) - examples.sizes
    assert (np.add.reduceat(examples.labels, starts) >= 1).all(), "every query has a relevant candidate"
    joined = Examples.joined([examples, examples])
    assert len(joined.sizes) == 2 * len(examples.sizes)

    boosters: list[Any] = []
    train = lightgbm.train

    def recorded(*args: Any, **kwargs: Any) -> Any:
        boosters.append(train(*args, **kwargs))
        return boosters[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lightgbm, "train", recorded)
        trees, _, about = train_trees(examples, NUMBERS, FeatureDropout(), 1)
    rows = examples.rows.astype(np.float64)
    np.testing.assert_allclose(trees.scores(rows), boosters[-1].predict(rows), rtol=0, atol=1e-9)
    assert trees.names == examples.names and about["queries"] == len(examples.sizes)
    again, _, _ = train_trees(examples, NUMBERS, FeatureDropout(), 1)
    assert (again.scores(rows) == trees.scores(rows)).all()


def test_the_command_trains_a_model_that_serves(recipe: Path, set_folder: Path, models: Path, tmp_path: Path) -> None:
    about = run(recipe, set_folder, models / "ltr")
    assert set(about["tasks"]) == {"global", "local"}, "the set has no paragraph of a dev year"
    assert about["tasks"]["local"]["sets"] == {"small": about["tasks"]["local"]["queries"]}
    card = json.loads((models / "ltr" / "card.json").read_text())
    assert card["recipe"]["trees"]["rounds"] == 20 and set(card["dev"]["local"]["trees"]) == {"R@10", "RR"}
    measures = Evaluation(set_folder, "local", sample=10).report(["bm25", "tiny-learned"]).as_json()["pipelines"]
    assert measures["tiny-learned"]["R@10"] > 0
    with pytest.raises(CitewellError, match="no learning-to-rank model 'ltr' for the paragraph task"):
        Evaluation(set_folder, "paragraph", sample=3).report(["tiny-learned"])


def test_a_network_is_trained_with_the_trees(recipe: Path, set_folder: Path, models: Path) -> None:
    pytest.importorskip("torch")
    from citewell.models.ltr_network import Network

    recipe.write_text(RECIPE + "\n[network]\nshare = 0.5\nhidden = 8\nepochs = 2\nrate = 0.01\nbatch = 4\ndropout = 0.1\n")
    about = run(recipe, set_folder, models / "ltr")
    held_out = json.loads((models / "ltr" / "card.json").read_text())["dev"]["local"]
    assert about["tasks"]["local"]["held-out queries with a relevant candidate"] == held_out
    assert set(held_out) == {"trees", "network", "ensemble"} and set(held_out["network"]) == {"R@10", "RR"}
    network = Network.load(models / "ltr" / "local-network.npz")
    assert network.share == 0.5 and [weights.shape[1] for weights, _ in network.layers] == [8, 4, 1]
    measures = Evaluation(set_folder, "local", sample=10).report(["bm25", "tiny-learned"]).as_json()["pipelines"]
    assert measures["tiny-learned"]["R@10"] > 0
    # Without a network, only the trees are served.
    recipe.write_text(RECIPE)
    assert set(run(recipe, set_folder, models / "ltr")["tasks"]) == {"global", "local"}
    assert not list((models / "ltr").glob("*-network.npz"))


def test_a_network_learns_relevance_and_weights_uncited_papers() -> None:
    pytest.importorskip("torch")
    from citewell.train.ltr import Examples
    from citewell.train.ltr_network import fit
    from citewell.train.recipe import NetworkHyperparameters

    random = np.random.default_rng(1)
    queries, each = 80, 8
    signal, cited = random.random(queries * each), random.integers(0, 2, queries * each)
    best = signal.reshape(queries, each).argmax(1) + np.arange(queries) * each
    labels = np.zeros(queries * each, np.int8)
    labels[best] = 1
    also = [
        int(random.choice(np.flatnonzero(cited[at : at + each] == 0))) + at
        for at in range(0, len(cited), each)
        if not cited[at : at + each].all()
    ]
    labels[also] = 1
    rows = np.column_stack([signal, cited, np.where(random.random(len(cited)) < 0.3, np.nan, 1.0)]).astype(np.float32)
    examples = Examples(("signal", "citations", "noise"), rows, labels, np.full(queries, each))
    numbers = NetworkHyperparameters(share=1.0, hidden=16, epochs=30, rate=0.01, batch=8)
    plain, weighted = (fit(examples, numbers, uncited, 1) for uncited in (1.0, 5.0))
    high, low = np.array([[0.9, 1.0, 1.0]]), np.array([[0.1, 1.0, 1.0]])
    assert plain.scores(high) > plain.scores(low)
    unseen = np.array([[0.5, 0.0, np.nan]])
    assert weighted.scores(unseen) - weighted.scores(high) > plain.scores(unseen) - plain.scores(high)
    assert (fit(examples, numbers, 1.0, 1).scores(high) == plain.scores(high)).all(), "training is deterministic"


def test_some_queries_are_repeated_with_hidden_features(recipe: Path, set_folder: Path) -> None:
    from citewell.train.ltr import FeatureDropout, collect

    examples = collect(Evaluation(set_folder, "local", "dev", 30), ltr_stage("tiny-learned"))
    assert examples is not None
    left = examples.without(["bm25-contexts"], 20)
    columns = dict(zip(left.names, left.rows.T, strict=True))
    assert np.isnan(columns["bm25-contexts score"]).all() and np.isnan(columns["bm25-contexts rank"]).all()
    assert not np.isnan(columns["bm25 rank"]).any(), "candidates of no other pipeline are dropped"
    assert left.sizes.sum() == len(left.rows) == len(left.labels)
    vectors, writers = HiddenFeatures(("bm25-contexts",), 0.5), HiddenFeatures(("shared authors",), 0.4)
    more = FeatureDropout((vectors,), 20).augment(examples, 1)
    assert len(examples.sizes) < len(more.sizes) < 2 * len(examples.sizes)
    assert len(FeatureDropout((vectors, writers), 20).augment(examples, 1).sizes) > len(more.sizes)
    assert (more.rows[: len(examples.rows)] == examples.rows)[~np.isnan(examples.rows)].all()
    assert len(FeatureDropout().augment(examples, 1).sizes) == len(examples.sizes)
    assert np.isnan(dict(zip(left.names, examples.without(["shared authors"], 20).rows.T, strict=True))["shared authors"]).all()


def test_uncited_papers_can_have_a_larger_gain() -> None:
    from citewell.train.ltr import Examples, FeatureDropout, train_trees

    queries, each = 60, 6
    random = np.random.default_rng(1)
    # Two of three cited papers are relevant, and one of three uncited ones; otherwise they look alike.
    cited = np.tile([1, 1, 1, 0, 0, 0], queries).astype(np.float32)
    labels = np.tile([1, 1, 0, 1, 0, 0], queries).astype(np.int8)
    rows = np.column_stack([cited, random.random(len(cited))]).astype(np.float32)
    examples = Examples(("citations", "noise"), rows, labels, np.full(queries, each))
    kinds = np.array([[0.0, 0.5], [1.0, 0.5]])
    plain, _, _ = train_trees(examples, NUMBERS, FeatureDropout(), 1)
    weighted, _, _ = train_trees(examples, {**NUMBERS, "uncited": 20.0}, FeatureDropout(), 1)
    assert plain.scores(kinds)[0] < plain.scores(kinds)[1]
    assert weighted.scores(kinds)[0] > weighted.scores(kinds)[1]


def test_the_shipped_recipe_trains(recipe: Path, set_folder: Path, tmp_path: Path) -> None:
    text = files("citewell.train").joinpath("recipes", "ltr.toml").read_text("utf-8")
    shipped = load_recipe("ltr")
    assert isinstance(shipped, LtrRecipe)
    text = text.replace(f'"{shipped.pipeline}"', '"tiny-learned"').replace(f"= {shipped.sample}", "= 12")
    recipe.write_text(text.replace(f"rounds = {shipped.trees['rounds']}", "rounds = 5\nnum_threads = 1"))
    assert set(run(recipe, set_folder, tmp_path / "out")["tasks"]) == {"global", "local"}


def test_collected_features_are_reused(recipe: Path, set_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from citewell.train import ltr_data as ltr_data

    collect = ltr_data.collect
    collected: list[str] = []

    def interrupted(evaluation: Evaluation, *args: Any) -> Any:
        if collected:
            raise KeyboardInterrupt
        collected.append(evaluation.task)
        return collect(evaluation, *args)

    monkeypatch.setattr(ltr_data, "collect", interrupted)
    arguments = ["train", str(recipe), "--set", str(set_folder), "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(cli, arguments).exit_code != 0
    assert collected == ["global"]

    def counted(evaluation: Evaluation, *args: Any) -> Any:
        collected.append(evaluation.task)
        return collect(evaluation, *args)

    monkeypatch.setattr(ltr_data, "collect", counted)
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert collected == ["global", "local"] and "local: R@10" in done.stdout
    # Other settings of the trees need no new examples; another sample does.
    recipe.write_text(RECIPE.replace("rounds = 20", "rounds = 10"))
    run(recipe, set_folder, tmp_path / "out")
    assert collected == ["global", "local"]
    recipe.write_text(RECIPE.replace("sample = 30", "sample = 20"))
    run(recipe, set_folder, tmp_path / "out")
    assert collected == ["global", "local"] * 2


def test_a_pipeline_without_ltr_stage_is_an_error(recipe: Path, set_folder: Path, tmp_path: Path) -> None:
    recipe.write_text(RECIPE.replace("tiny-learned", "bm25"))
    arguments = ["train", str(recipe), "--set", str(set_folder), "--out", str(tmp_path / "out")]
    failed = CliRunner().invoke(cli, arguments)
    assert isinstance(failed.exception, CitewellError) and "does not begin with a stage of the kind" in str(failed.exception)


def test_sets_without_dev_queries_are_an_error(recipe: Path, tmp_path: Path) -> None:
    network = small_set()
    network.toml = network.toml.replace("[2019]", "[2030]")
    failed = CliRunner().invoke(
        cli, ["train", str(recipe), "--set", str(network.write(tmp_path / "none")), "--out", str(tmp_path / "out")]
    )
    assert isinstance(failed.exception, CitewellError) and "have no query with a relevant candidate" in str(failed.exception)
