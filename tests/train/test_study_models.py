"""``citewell reproduce`` lists the models that a study lacks, asks, trains them once, and says what was left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from citewell.cli import study_training
from citewell.cli.reproduce import command
from citewell.evaluate import studies
from citewell.models import archives
from citewell.train import quick
from citewell.train.recipe import load_recipe, recipes
from citewell.train.study_models import Lacking, lacking, recipe_of, train_lacking

pytest.importorskip("torch")
pytest.importorskip("gensim")


def run(study: str, folder: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [study, str(folder), "--sample", "10", "--json", *options], catch_exceptions=False)


def by_model(study: str, folder: Path) -> dict[str, Lacking]:
    return {each.model: each for each in lacking(studies.load(study), [folder], 10)}


def test_nothing_is_trained_unless_somebody_agrees(set_folder: Path, models: Path) -> None:
    ran = run("hybridcite2020", set_folder)
    rows = {row["method"]: row for row in json.loads(ran.stdout)["tables"][0]["rows"]}
    assert "LDA, on 1 library of small" in ran.stderr and "Training takes" in ran.stderr
    assert rows["BM25"]["ours"] and not rows["LDA"]["ours"] and "not trained: lda" in rows["LDA"]["failed"]["small"]
    left_out = json.loads(ran.stdout)["left_out"]
    assert any(line.startswith("not trained: lda") for line in left_out) and left_out[-1].endswith("--yes")


def test_models_that_take_too_long_are_not_trained_by_the_rows_either(
    set_folder: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citewell.train import estimates

    monkeypatch.setitem(estimates.RECORD_SECONDS, "doc2vec", 1e6)
    monkeypatch.setattr(estimates, "SLOWEST", 1e6)
    content = json.loads(run("hybridcite2020", set_folder, "--yes", "--hours", "1").stdout)
    rows = {row["method"]: row for row in content["tables"][0]["rows"]}
    assert "not trained: doc2vec" in rows["Doc2Vec"]["failed"]["small"] and not rows["Doc2Vec"]["ours"]
    assert rows["LDA"]["ours"]
    assert any(line.startswith("doc2vec (Doc2Vec") for line in content["left_out"])


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_the_answer_decides(set_folder: Path, models: Path, monkeypatch: Any, answer: str) -> None:
    monkeypatch.setattr(study_training, "_on_terminal", lambda: True)
    arguments = ["hybridcite2020", str(set_folder), "--sample", "10", "--quick", "--json"]
    ran = CliRunner().invoke(command, arguments, input=f"{answer}\n", catch_exceptions=False)
    rows = {row["method"]: row for row in json.loads(ran.stdout)["tables"][0]["rows"]}
    assert "Train them now?" in ran.stderr and bool(rows["Doc2Vec"]["ours"]) == (answer == "y")
    again = CliRunner().invoke(command, arguments, input="n\n", catch_exceptions=False)
    assert ("Train them now?" in again.stderr) == (answer == "n")


def test_published_weights_at_hand_are_named(set_folder: Path, models: Path, tmp_path: Path, monkeypatch: Any) -> None:
    archive, trained = tmp_path / "aueb2020.tar.gz", tmp_path / "jpdrmm"
    trained.mkdir()
    card = {"what": "a model", "recipe": {"name": "jpdrmm"}, "sets": ["small"], "licence": "Apache-2.0"}
    (trained / "card.json").write_text(json.dumps(card))
    archives.pack([trained], archive)
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    monkeypatch.setattr(archives, "published", lambda: [damaged, archive])
    said = run("aueb2020", set_folder, "--no-training").stderr
    assert f"{damaged} is not an archive of models" in said
    assert f"Trained weights of jpdrmm can be installed: citewell models install {archive}" in said
    assert "Trained weights" not in run("hybridcite2020", set_folder, "--no-training").stderr


def test_models_of_libraries_are_trained_once(set_folder: Path, models: Path) -> None:
    study = "hybridcite2020"
    for each in by_model(study, set_folder).values():
        assert each.ends and each.seconds > 0 and not each.obstacle
        if each.model in ("hyperdoc2vec", "hyperdoc2vec-plain"):
            train_lacking(each, models)
    assert not {"hyperdoc2vec", "hyperdoc2vec-plain"} & by_model(study, set_folder).keys()
    assert "lda" in by_model(study, set_folder)


def test_weights_go_to_their_folder_when_they_are_complete(set_folder: Path, models: Path, monkeypatch: Any) -> None:
    before = by_model("aueb2020", set_folder)
    assert before["jpdrmm"].sets == (set_folder,) and before["jpdrmm"].recipe == "jpdrmm" and before["jpdrmm"].seconds > 0
    train_lacking(before["jpdrmm"], models, is_quick=True)
    assert [path.name for path in models.iterdir()] == ["jpdrmm"]
    assert json.loads((models / "jpdrmm" / "card.json").read_text())["recipe"]["name"] == "jpdrmm"
    assert "jpdrmm" not in by_model("aueb2020", set_folder) and "jpdrmm-graph" in by_model("aueb2020", set_folder)


def test_a_quick_run_measures_every_row_and_installs_nothing(set_folder: Path, models: Path) -> None:
    first, again = run("aueb2020", set_folder, "--quick", "--yes"), run("aueb2020", set_folder, "--quick", "--yes")
    content = json.loads(first.stdout)
    # The set is too small for a graph of key terms; a training that fails is told and the others go on.
    assert [line.partition(":")[0] for line in content["left_out"]] == ["jpdrmm-graph"]
    for table in content["tables"]:
        apart = ("jpdrmm-graph", "ensemble-sum", "ensemble-max", "")
        assert all(row["ours"] for row in table["rows"] if row["pipeline"] not in apart)
    assert list(models.iterdir()) == []
    assert "training semiser" in first.stderr and "training semiser" not in again.stderr
    assert json.loads(again.stdout) == content


def test_a_base_that_is_not_trained_comes_first_and_a_base_that_is_not_here_is_named(set_folder: Path, models: Path) -> None:
    medic = list(by_model("medic2023", set_folder))
    assert medic.index("words") < medic.index("textcon")
    scibert = by_model("nogueira2020", set_folder)["nogueira-scibert"]
    assert "scibert" in scibert.obstacle and str(models) in scibert.obstacle
    assert recipe_of("textenh-strict") == ("medic-textenh-strict", "") and recipe_of("specter") == ("", "")


def test_weights_are_not_trained_under_the_name_of_another_base(set_folder: Path, models: Path, monkeypatch: Any) -> None:
    from citewell.pipeline import registry
    from citewell.train import study_models

    known = {**registry.definitions()}
    stages = [{"kind": "bm25"}, {"kind": "cross-encoder", "model": "nogueira-other"}]
    known["other"] = {"about": "From another base.", "recipe": "nogueira-bert", "stages": stages}
    for module in (registry, study_models):
        monkeypatch.setattr(module, "definitions", lambda: known)
    assert recipe_of("nogueira-other") == ("nogueira-bert", study_models.UNKNOWN)


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_can_be_shortened(name: str) -> None:
    recipe = load_recipe(name)
    short = quick.shortened(recipe)
    assert type(short) is type(recipe) and short.name == name
    numbers = getattr(short, "numbers", {})
    assert numbers.get("steps", 0) <= quick.STEPS and (numbers.get("epochs", 0) <= 1)
