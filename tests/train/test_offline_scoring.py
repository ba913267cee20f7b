"""Examinations: what a GPU marks elsewhere is ranked as the served model ranks it here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.trec import read_run
from citewell.models.enhanced_context import Shape
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.rerank.enhanced_context import EnhancedContext
from citewell.train import offline_scoring as exams
from citewell.train.packs import load, save

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")

SIZES = {"vocabulary": 30522, "words": 12, "hidden": 8, "context": 14, "text": 24, "people": 50, "author": 6, "authors": 3}
MADE = {"channels": 4, "years": 2}


def trained(variant: str, models: Path, base: Path) -> Path:
    """Weights as a training leaves them, and the served model called `variant`."""
    from citewell.train.enhanced_context import export
    from citewell.train.enhanced_context import save as keep
    from citewell.train.enhanced_network import Network

    torch.manual_seed(3)
    weights = models / f"{variant}-weights"
    keep(Network(Shape(variant, **SIZES, **MADE)), weights)
    shutil.copyfile(base / "tokenizer.json", weights / "tokenizer.json")
    export(weights, models / variant)
    return weights


@pytest.mark.parametrize("variant", ["textcon", "textbibenh-ws"])
def test_what_is_marked_elsewhere_is_what_the_served_model_says(
    variant: str, models: Path, base: Path, set_folder: Path, tmp_path: Path
) -> None:
    from citewell.train.score_offline import marks, network

    weights = trained(variant, models, base)
    evaluation = Evaluation(set_folder, "local", "test", sample=8)
    first = pipeline("bm25")
    exam = exams.make(evaluation, first, 1000, Shape("textbibenh-ws", **SIZES, **MADE), base)
    save(exam, tmp_path / "exam.npz")
    save(marks(load(tmp_path / "exam.npz"), network(weights, torch.device("cpu")), torch.device("cpu")), tmp_path / "marks.npz")
    run = tmp_path / "marked.run"
    found = CliRunner().invoke(exams.main, ["run", str(tmp_path / "exam.npz"), str(tmp_path / "marks.npz"), str(run)])
    assert found.exit_code == 0, found.output
    served = Pipeline("served", "", (*first.stages, EnhancedContext(model=variant, depth=1000)))
    ours, theirs = evaluation.run_systems([served], [run]).outcomes
    assert ours.values["RR"] == pytest.approx(theirs.values["RR"]) and len(ours.values["RR"]) == 8
    assert ours.values["AP"] == pytest.approx(theirs.values["AP"]) and (ours.values["AP"] > 0).any()
    assert ours.values["R@10"] == pytest.approx(theirs.values["R@10"])
    assert set(read_run(run)) == set(exam["questions"].tolist())


def test_marks_of_another_examination_are_refused() -> None:
    one = {"rows": np.zeros((1, 2), np.int32), "papers": np.array(["a"]), "questions": np.array(["q"])}
    with pytest.raises(CitewellError, match="another examination"):
        exams.ranked(one, {"marks": np.zeros((1, 3), np.float32)})


def test_candidates_come_by_their_marks_and_missing_ones_not_at_all() -> None:
    exam = {"rows": np.array([[2, 0, 1, -1]], np.int32), "papers": np.array(["a", "b", "c"]), "questions": np.array(["q"])}
    found = exams.ranked(exam, {"marks": np.array([[0.5, 0.7, 0.5, np.nan]], np.float32)})
    assert list(found["q"]) == ["a", "c", "b"], "of equal marks the first stage's order counts"
    assert found["q"]["c"] > found["q"]["b"]


def test_a_recipe_of_another_kind_is_refused(set_folder: Path, tmp_path: Path) -> None:
    found = CliRunner().invoke(exams.main, ["make", str(set_folder), str(tmp_path / "exam.npz"), "--recipe", "encoder"])
    assert isinstance(found.exception, CitewellError) and "medic-text" in str(found.exception)


def test_a_grid_trains_and_marks_each_recipe_once_and_goes_on_past_one_that_fails(
    packed: Path, base: Path, set_folder: Path, tmp_path: Path
) -> None:
    from citewell.train import grid

    sizes = "".join(f"{name} = {value}\n" for name, value in {**SIZES, **MADE}.items() if name != "vocabulary")
    recipe = f"""
about = "A tiny re-ranker"
kind = "enhanced-context"
[numbers]
steps = 2
pairs = 4
wrong = 3
dev_every = 2
dev_questions = 4
dev_depth = 6
[shape]
variant = "textenh"
{sizes}"""
    (tmp_path / "tiny.toml").write_text(recipe)
    (tmp_path / "broken.toml").write_text(recipe.replace('"textenh"', '"textenh"\nhidden_size = 3'))
    shape = Shape("textenh", **SIZES, **MADE)
    exam = tmp_path / "exam.npz"
    save(exams.make(Evaluation(set_folder, "local", "test", sample=4), pipeline("bm25"), 50, shape, base), exam)
    tiny = str(tmp_path / "tiny.toml")
    command = [sys.executable, "-m", "citewell.train.grid", packed, base, exam, tmp_path / "out", "--workers", "2"]
    command += [tiny, f"{tiny}@2", str(tmp_path / "broken.toml")]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 1 and "broken.toml: " in done.stderr and "hidden_size" in done.stderr
    one, other = (load(tmp_path / "out" / name)["marks"] for name in ("tiny.npz", "tiny-seed-2.npz"))
    assert one.shape == other.shape == load(exam)["rows"].shape
    assert not np.array_equal(one, other, equal_nan=True), "another seed is another model"
    assert grid.train_and_mark(tiny, packed, base, exam, tmp_path / "out") == 0.0, "what is done is not done again"
