"""Tuning a recipe over folds: cells, interruption, the choice, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from citewell.cli.main import cli
from citewell.errors import CitewellError
from citewell.train import cross_validation
from citewell.train.cross_validation import CELLS, CrossValidation, Figure, SettingFigures, tune_recipe
from citewell.train.recipe import EvidenceRecipe, load_recipe

RECIPE = """
like = "jpdrmm"
words = { size = 6, min_count = 1, epochs = 1 }
numbers = { steps = 3, queries = 3, max_sentences = 2, hidden = 4, dev_depth = 6 }
tuning = { paper_loss = [1.0], sentence_loss = [0.0, 1.0] }
"""


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "tiny.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def recipe(recipe_file: Path) -> EvidenceRecipe:
    pytest.importorskip("torch")
    pytest.importorskip("gensim")
    recipe = load_recipe(str(recipe_file))
    assert isinstance(recipe, EvidenceRecipe)
    return recipe


def tune_command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["tune", *map(str, arguments)])


@pytest.fixture(scope="module")
def tuned(recipe_file: Path, recipe: EvidenceRecipe, set_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a tuning by the command, and what it printed."""
    folder = tmp_path_factory.mktemp("tuning") / "out"
    done = tune_command(set_folder, "--recipe", recipe_file, "--out", folder, "--folds", 3, "--jobs", 2, "--json")
    assert done.exit_code == 0, done.output
    return folder, json.loads(done.stdout), done.stderr


def test_every_setting_is_trained_without_each_fold_and_measured_on_it(tuned: Any) -> None:
    from citewell.train.fold_training import FoldTraining
    from citewell.train.joint_snippets import fit_on
    from citewell.train.sentence_measures import precisions

    folder, printed, told = tuned
    assert "6 trainings (2 settings, 3 folds), 0 done; about" in told and "in 2 processes" in told
    cells = [json.loads(line) for line in (folder / CELLS).read_text().splitlines()]
    assert len(cells) == 6 and printed["queries"] == 12
    training = FoldTraining(folder)
    folds = training.folds
    assert sorted(query for fold in folds for query in fold) == training.data.queries("train").tolist()
    first = next(cell for cell in cells if cell["fold"] == 1 and cell["settings"]["sentence_loss"] == 1.0)
    others = [query for at in (0, 2) for query in folds[at]]
    numbers = training._numbers({"paper_loss": 1.0, "sentence_loss": 1.0})
    papers, sentences = precisions(
        training.data, fit_on(training.data, training._words, numbers, others).score, folds[1], numbers.dev_depth
    )
    assert first["AP"] == pytest.approx(np.mean(papers)) and first["sentences:AP"] == pytest.approx(np.mean(sentences))
    with_sentences = [row for row in printed["settings"] if row["settings"]["sentence_loss"] == 1.0]
    mine = [cell["AP"] for cell in cells if cell["settings"]["sentence_loss"] == 1.0]
    assert with_sentences[0]["figures"]["AP"]["mean"] == pytest.approx(np.mean(mine))
    assert with_sentences[0]["figures"]["AP"]["spread"] == pytest.approx(np.std(mine, ddof=1))
    assert printed["best"] in printed["settings"] and printed["best"]["settings"] in printed["alike"]


def test_finished_cells_are_kept_and_a_larger_grid_adds_to_them(
    tuned: Any, recipe: EvidenceRecipe, recipe_file: Path, set_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tuned[0]
    lines = (folder / CELLS).read_bytes().splitlines(keepends=True)
    (folder / CELLS).write_bytes(b"".join(lines[:4]) + lines[4][:20])  # a kill cut the fifth line off
    asked = []
    run = cross_validation._in_processes

    def counted(cells: Any, *rest: Any) -> Any:
        asked.append(len(cells))
        return run(cells, *rest)

    monkeypatch.setattr(cross_validation, "_in_processes", counted)
    grid = {"paper_loss": [1, 2], "sentence_loss": [0.0, 1.0]}  # 1 is the same weight as 1.0
    result = tune_recipe(recipe, [set_folder], grid, folder, 3)
    assert asked == [2 + 6] and len(result.rows) == 4
    assert (folder / CELLS).read_bytes().startswith(b"".join(lines[:4]))
    again = tune_command(set_folder, "--recipe", recipe_file, "--out", folder, "--folds", 3)
    assert asked == [8, 0] and again.exit_code == 0
    assert "best by mean: paper_loss = 1, sentence_loss = " in again.stdout and "BM25" in again.stdout
    with pytest.raises(CitewellError, match="with other folds"):
        tune_recipe(recipe, [set_folder], grid, folder, 4)


def test_a_failed_training_is_an_error(tuned: Any, recipe: EvidenceRecipe, set_folder: Path) -> None:
    # A negative rate is a number, so only the optimizer of the worker refuses it.
    with pytest.raises(CitewellError, match=r"a training with .*-1\.0.* failed"):
        tune_recipe(recipe, [set_folder], {"paper_loss": [1.0], "rate": [0.01, -1.0]}, tuned[0], 3)


def test_settings_within_a_standard_error_of_the_best_are_alike() -> None:
    def row(value: float) -> SettingFigures:
        return SettingFigures({"rate": value}, {"AP": Figure(value, 0.04)})

    rows = [row(0.50), row(0.47), row(0.49)]
    done = CrossValidation("jpdrmm", 4, 100, "AP", rows, Figure(0.4, 0.0))
    assert done.best is rows[0] and done.alike == [rows[0], rows[2]]
    assert Figure.of([0.2, 0.4]).spread == pytest.approx(0.2 / math.sqrt(2)) and Figure.of([0.3]).spread == 0.0


def test_unusable_options_are_errors(recipe_file: Path, recipe: EvidenceRecipe, set_folder: Path, tmp_path: Path) -> None:
    def message(*arguments: object) -> str:
        failed = tune_command(set_folder, *arguments)
        return str(failed.exception) if isinstance(failed.exception, CitewellError) else failed.output

    mine = ("--recipe", recipe_file)
    assert "--out DIR" in message(*mine)
    assert "--task is for a pipeline" in message(*mine, "--task", "evidence")
    assert "--folds is for --recipe" in message("--folds", 3)
    out = ("--out", tmp_path / "out")
    assert "'lda' cannot be tuned" in message("--recipe", "lda", *out)
    assert "no grid of its own" in message("--recipe", "semiser", *out)
    assert "learns without queries" in message("--recipe", "semiser", *out, "--grid", "rate=0.1")
    assert "unknown field `weight`" in message(*mine, *out, "--grid", "weight=1")
    assert "tuned by AP, sentences:AP, mean" in message(*mine, *out, "--measure", "R@10")
    assert "only 12 train queries" in message(*mine, *out, "--folds", 13)
