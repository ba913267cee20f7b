"""The learned combination from collecting to ranking: what ``citewell train ltr`` makes, and what serves."""

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
from citewell.train.recipe import FusionRecipe, Hidden, load_recipe
from tests.evaluate.small_set import small_set

lightgbm = pytest.importorskip("lightgbm")

RECIPE = """
about = "A tiny combination"
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
about = "What BM25 finds, weighed by trees"
stages = [{ kind = "ltr", of = ["bm25", "bm25-contexts"], also = ["bm25-proximity"], depth = 20 }]
"""


@pytest.fixture
def recipe(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines.toml").write_text(PIPELINES)
    monkeypatch.setenv("CITEWELL_PIPELINES", str(tmp_path / "pipelines.toml"))
    definitions.cache_clear()
    (tmp_path / "tiny-ltr.toml").write_text(RECIPE)
    return tmp_path / "tiny-ltr.toml"


def learned(name: str) -> LTR:
    stage = pipeline(name).stages[0]
    assert isinstance(stage, LTR)
    return stage


def run(recipe: Path, set_folder: Path, out: Path, *more: str) -> Any:
    arguments = ["train", str(recipe), "--set", str(set_folder), "--out", str(out), "--json", *more]
    return json.loads(CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout)


def test_trees_of_collected_examples_score_as_lightgbm_does(recipe: Path, set_folder: Path) -> None:
    from citewell.train.ltr import Examples, Hiding, collect, learn

    examples = collect(Evaluation(set_folder, "local", "dev", 30), learned("tiny-learned"))
    assert len(examples.rows) == len(examples.labels) == examples.sizes.sum()
    assert examples.rows.shape[1] == len(examples.names) and len(set(examples.names)) == len(examples.names)
    assert np.isnan(examples.rows).any(), "what cannot be known is missing"
    starts = np.cumsum(examples.sizes) - examples.sizes
    assert (np.add.reduceat(examples.labels, starts) >= 1).all(), "every question has something to learn"
    joined = Examples.joined([examples, examples])
    assert len(joined.sizes) == 2 * len(examples.sizes)

    kept: list[Any] = []
    train = lightgbm.train

    def keep(*given: Any, **named: Any) -> Any:
        kept.append(train(*given, **named))
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lightgbm, "train", keep)
        trees, _, about = learn(examples, NUMBERS, Hiding(), 1)
    rows = examples.rows.astype(np.float64)
    np.testing.assert_allclose(trees.scores(rows), kept[-1].predict(rows), rtol=0, atol=1e-9)
    assert trees.names == examples.names and about["questions"] == len(examples.sizes)
    again, _, _ = learn(examples, NUMBERS, Hiding(), 1)
    assert (again.scores(rows) == trees.scores(rows)).all()


def test_the_command_makes_a_combination_that_serves(recipe: Path, set_folder: Path, models: Path, tmp_path: Path) -> None:
    about = run(recipe, set_folder, models / "ltr")
    assert set(about["tasks"]) == {"global", "local"}, "the set has no paragraph of a dev year"
    assert about["tasks"]["local"]["sets"] == {"small": about["tasks"]["local"]["questions"]}
    card = json.loads((models / "ltr" / "card.json").read_text())
    assert card["recipe"]["trees"]["rounds"] == 20 and set(card["dev"]["local"]["trees"]) == {"R@10", "RR"}
    found = Evaluation(set_folder, "local", sample=10).report(["bm25", "tiny-learned"]).as_json()["pipelines"]
    assert found["tiny-learned"]["R@10"] > 0
    with pytest.raises(CitewellError, match="no learned combination 'ltr' for the paragraph task"):
        Evaluation(set_folder, "paragraph", sample=3).report(["tiny-learned"])


def test_a_network_learns_beside_the_trees(recipe: Path, set_folder: Path, models: Path) -> None:
    pytest.importorskip("torch")
    from citewell.models.ltr_network import Network

    recipe.write_text(RECIPE + "\n[network]\nshare = 0.5\nhidden = 8\nepochs = 2\nrate = 0.01\nbatch = 4\ndropout = 0.1\n")
    about = run(recipe, set_folder, models / "ltr")
    held_back = json.loads((models / "ltr" / "card.json").read_text())["dev"]["local"]
    assert about["tasks"]["local"]["held back, among those with an answer to find"] == held_back
    assert set(held_back) == {"trees", "network", "together"} and set(held_back["network"]) == {"R@10", "RR"}
    made = Network.load(models / "ltr" / "local-network.npz")
    assert made.share == 0.5 and [weights.shape[1] for weights, _ in made.layers] == [8, 4, 1]
    found = Evaluation(set_folder, "local", sample=10).report(["bm25", "tiny-learned"]).as_json()["pipelines"]
    assert found["tiny-learned"]["R@10"] > 0
    # Trees that are learned alone are served alone.
    recipe.write_text(RECIPE)
    assert set(run(recipe, set_folder, models / "ltr")["tasks"]) == {"global", "local"}
    assert not list((models / "ltr").glob("*-network.npz"))


def test_a_network_learns_what_is_right_and_spares_what_nobody_has_cited() -> None:
    pytest.importorskip("torch")
    from citewell.train.ltr import Examples
    from citewell.train.ltr_network import fit
    from citewell.train.recipe import NetworkNumbers

    random = np.random.default_rng(1)
    questions, each = 80, 8
    signal, cited = random.random(questions * each), random.integers(0, 2, questions * each)
    best = signal.reshape(questions, each).argmax(1) + np.arange(questions) * each
    labels = np.zeros(questions * each, np.int8)
    labels[best] = 1
    also = [
        int(random.choice(np.flatnonzero(cited[at : at + each] == 0))) + at
        for at in range(0, len(cited), each)
        if not cited[at : at + each].all()
    ]
    labels[also] = 1
    rows = np.column_stack([signal, cited, np.where(random.random(len(cited)) < 0.3, np.nan, 1.0)]).astype(np.float32)
    examples = Examples(("signal", "citations", "noise"), rows, labels, np.full(questions, each))
    numbers = NetworkNumbers(share=1.0, hidden=16, epochs=30, rate=0.01, batch=8)
    plain, spared = (fit(examples, numbers, uncited, 1) for uncited in (1.0, 5.0))
    high, low = np.array([[0.9, 1.0, 1.0]]), np.array([[0.1, 1.0, 1.0]])
    assert plain.scores(high) > plain.scores(low)
    unseen = np.array([[0.5, 0.0, np.nan]])
    assert spared.scores(unseen) - spared.scores(high) > plain.scores(unseen) - plain.scores(high)
    assert (fit(examples, numbers, 1.0, 1).scores(high) == plain.scores(high)).all(), "the same again"


def test_a_share_of_the_questions_teaches_what_a_library_without_vectors_is_like(recipe: Path, set_folder: Path) -> None:
    from citewell.train.ltr import Hiding, collect

    examples = collect(Evaluation(set_folder, "local", "dev", 30), learned("tiny-learned"))
    assert examples is not None
    left = examples.without(["bm25-contexts"], 20)
    columns = dict(zip(left.names, left.rows.T, strict=True))
    assert np.isnan(columns["bm25-contexts score"]).all() and np.isnan(columns["bm25-contexts rank"]).all()
    assert not np.isnan(columns["bm25 rank"]).any(), "what the other pipelines did not find is gone"
    assert left.sizes.sum() == len(left.rows) == len(left.labels)
    vectors, writers = Hidden(("bm25-contexts",), 0.5), Hidden(("shared authors",), 0.4)
    more = Hiding((vectors,), 20).added(examples, 1)
    assert len(examples.sizes) < len(more.sizes) < 2 * len(examples.sizes)
    assert len(Hiding((vectors, writers), 20).added(examples, 1).sizes) > len(more.sizes)
    assert (more.rows[: len(examples.rows)] == examples.rows)[~np.isnan(examples.rows)].all()
    assert len(Hiding().added(examples, 1).sizes) == len(examples.sizes)
    assert np.isnan(dict(zip(left.names, examples.without(["shared authors"], 20).rows.T, strict=True))["shared authors"]).all()


def test_what_nobody_has_cited_yet_may_count_for_more() -> None:
    from citewell.train.ltr import Examples, Hiding, learn

    questions, each = 60, 6
    random = np.random.default_rng(1)
    # Of three papers that somebody has cited two are right, of three others one is; but for that they all look alike.
    cited = np.tile([1, 1, 1, 0, 0, 0], questions).astype(np.float32)
    labels = np.tile([1, 1, 0, 1, 0, 0], questions).astype(np.int8)
    rows = np.column_stack([cited, random.random(len(cited))]).astype(np.float32)
    examples = Examples(("citations", "noise"), rows, labels, np.full(questions, each))
    kinds = np.array([[0.0, 0.5], [1.0, 0.5]])
    plain, _, _ = learn(examples, NUMBERS, Hiding(), 1)
    spared, _, _ = learn(examples, {**NUMBERS, "uncited": 20.0}, Hiding(), 1)
    assert plain.scores(kinds)[0] < plain.scores(kinds)[1]
    assert spared.scores(kinds)[0] > spared.scores(kinds)[1]


def test_the_shipped_recipe_trains(recipe: Path, set_folder: Path, tmp_path: Path) -> None:
    text = files("citewell.train").joinpath("recipes", "ltr.toml").read_text("utf-8")
    shipped = load_recipe("ltr")
    assert isinstance(shipped, FusionRecipe)
    text = text.replace(f'"{shipped.pipeline}"', '"tiny-learned"').replace(f"= {shipped.sample}", "= 12")
    recipe.write_text(text.replace(f"rounds = {shipped.trees['rounds']}", "rounds = 5") + "num_threads = 1\n")
    assert set(run(recipe, set_folder, tmp_path / "out")["tasks"]) == {"global", "local"}


def test_what_was_collected_is_not_collected_again(
    recipe: Path, set_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citewell.train import ltr_data as adapting

    collect = adapting.collect
    asked: list[str] = []

    def killed(evaluation: Evaluation, *given: Any) -> Any:
        if asked:
            raise KeyboardInterrupt
        asked.append(evaluation.task)
        return collect(evaluation, *given)

    monkeypatch.setattr(adapting, "collect", killed)
    arguments = ["train", str(recipe), "--set", str(set_folder), "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(cli, arguments).exit_code != 0
    assert asked == ["global"]

    def counted(evaluation: Evaluation, *given: Any) -> Any:
        asked.append(evaluation.task)
        return collect(evaluation, *given)

    monkeypatch.setattr(adapting, "collect", counted)
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert asked == ["global", "local"] and "local: R@10" in done.stdout
    # Other numbers for the trees need no new examples; another sample does.
    recipe.write_text(RECIPE.replace("rounds = 20", "rounds = 10"))
    run(recipe, set_folder, tmp_path / "out")
    assert asked == ["global", "local"]
    recipe.write_text(RECIPE.replace("sample = 30", "sample = 20"))
    run(recipe, set_folder, tmp_path / "out")
    assert asked == ["global", "local"] * 2


def test_a_pipeline_that_learns_nothing_is_refused(recipe: Path, set_folder: Path, tmp_path: Path) -> None:
    recipe.write_text(RECIPE.replace("tiny-learned", "bm25"))
    arguments = ["train", str(recipe), "--set", str(set_folder), "--out", str(tmp_path / "out")]
    failed = CliRunner().invoke(cli, arguments)
    assert isinstance(failed.exception, CitewellError) and "does not begin with a learned combination" in str(failed.exception)


def test_sets_that_ask_nothing_are_said_to(recipe: Path, tmp_path: Path) -> None:
    made = small_set()
    made.toml = made.toml.replace("[2019]", "[2030]")
    failed = CliRunner().invoke(
        cli, ["train", str(recipe), "--set", str(made.write(tmp_path / "none")), "--out", str(tmp_path / "out")]
    )
    assert isinstance(failed.exception, CitewellError) and "ask nothing" in str(failed.exception)
