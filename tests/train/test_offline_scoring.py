"""Offline scoring gives the rankings of the served model."""

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
from citewell.models.inputs import Inputs
from citewell.pipeline.pipeline import Pipeline
from citewell.pipeline.registry import pipeline
from citewell.rerank.enhanced_context import EnhancedContext
from citewell.train import offline_scoring as offline_scoring
from citewell.train.packs import load, save

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")

SIZES = {"vocabulary": 30522, "words": 12, "hidden": 8, "context": 14, "text": 24, "people": 50, "author": 6, "authors": 3}
OTHER_SIZES = {"channels": 4, "years": 2}


def trained(variant: str, models: Path, base: Path, inputs: Inputs) -> Path:
    """Weights as training writes them, and the served model called `variant`."""
    from citewell.train.enhanced_context import export
    from citewell.train.enhanced_context import save as save_weights
    from citewell.train.enhanced_network import Network

    torch.manual_seed(3)
    weights = models / f"{variant}-weights"
    save_weights(Network(Shape(variant, **SIZES, **OTHER_SIZES)), weights)
    shutil.copyfile(base / "tokenizer.json", weights / "tokenizer.json")
    inputs.write(weights)
    export(weights, models / variant)
    return weights


@pytest.mark.parametrize(("variant", "characters"), [("textcon", 0), ("textbibenh-ws", 15)])
def test_offline_scores_equal_those_of_the_served_model(
    variant: str, characters: int, models: Path, base: Path, set_folder: Path, tmp_path: Path
) -> None:
    from citewell.train.score_offline import load_network, score

    read = Inputs(context_characters=characters)
    weights = trained(variant, models, base, read)
    evaluation = Evaluation(set_folder, "local", "test", sample=8)
    first = pipeline("bm25")
    shape = Shape("textbibenh-ws", **SIZES, **OTHER_SIZES)
    inputs = offline_scoring.collect_inputs(evaluation, first, 1000, shape, base, inputs=read)
    assert (np.diff(inputs["context_at"]).max() < SIZES["context"]) == bool(characters)
    save(inputs, tmp_path / "inputs.npz")
    save(
        score(load(tmp_path / "inputs.npz"), load_network(weights, torch.device("cpu")), torch.device("cpu")),
        tmp_path / "scores.npz",
    )
    run = tmp_path / "scored.run"
    result = CliRunner().invoke(
        offline_scoring.main, ["run", str(tmp_path / "inputs.npz"), str(tmp_path / "scores.npz"), str(run)]
    )
    assert result.exit_code == 0, result.output
    served = Pipeline("served", "", (*first.stages, EnhancedContext(model=variant, depth=1000)))
    ours, theirs = evaluation.run([served], [run]).outcomes
    assert ours.values["RR"] == pytest.approx(theirs.values["RR"]) and len(ours.values["RR"]) == 8
    assert ours.values["AP"] == pytest.approx(theirs.values["AP"]) and (ours.values["AP"] > 0).any()
    assert ours.values["R@10"] == pytest.approx(theirs.values["R@10"])
    assert set(read_run(run)) == set(inputs["questions"].tolist())


def test_scores_of_other_inputs_are_an_error() -> None:
    one = {"rows": np.zeros((1, 2), np.int32), "papers": np.array(["a"]), "questions": np.array(["q"])}
    with pytest.raises(CitewellError, match="other inputs"):
        offline_scoring.to_run(one, {"scores": np.zeros((1, 3), np.float32)})


def test_candidates_are_sorted_by_score_without_padding() -> None:
    inputs = {"rows": np.array([[2, 0, 1, -1]], np.int32), "papers": np.array(["a", "b", "c"]), "questions": np.array(["q"])}
    run = offline_scoring.to_run(inputs, {"scores": np.array([[0.5, 0.7, 0.5, np.nan]], np.float32)})
    assert list(run["q"]) == ["a", "c", "b"], "equal scores keep the order of the first stage"
    assert run["q"]["c"] > run["q"]["b"]


def test_a_recipe_of_another_kind_is_an_error(set_folder: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        offline_scoring.main, ["make", str(set_folder), str(tmp_path / "inputs.npz"), "--recipe", "encoder"]
    )
    assert isinstance(result.exception, CitewellError) and "medic-text" in str(result.exception)


def test_papers_that_the_first_stage_missed_take_the_last_places() -> None:
    rows, scores = np.array([[2, 0, 1, 3]], np.int32), {"scores": np.array([[0.5, 0.7, 0.9, 0.8]], np.float32)}
    names = {"papers": np.array(["a", "b", "c", "d"]), "questions": np.array(["q"])}
    inputs = {"rows": rows, "depth": np.array(3, np.int32), **names}
    assert list(offline_scoring.to_run(inputs, scores)["q"]) == ["b", "a", "c"]
    assert list(offline_scoring.to_run(inputs, scores, lenient=True)["q"]) == ["d", "a", "c"]


def test_a_grid_trains_each_recipe_once(packed: Path, base: Path, set_folder: Path, tmp_path: Path) -> None:
    from citewell.train import grid

    sizes = "".join(f"{name} = {value}\n" for name, value in {**SIZES, **OTHER_SIZES}.items() if name != "vocabulary")
    recipe = f"""
about = "A tiny re-ranker"
kind = "enhanced-context"
[numbers]
steps = 2
pairs = 4
negatives = 3
dev_every = 2
dev_queries = 4
dev_depth = 6
[shape]
variant = "textenh"
{sizes}"""
    (tmp_path / "tiny.toml").write_text(recipe)
    (tmp_path / "broken.toml").write_text(recipe.replace('"textenh"', '"textenh"\nhidden_size = 3'))
    shape = Shape("textenh", **SIZES, **OTHER_SIZES)
    inputs = tmp_path / "inputs.npz"
    evaluation = Evaluation(set_folder, "local", "test", sample=4, lenient=True)
    save(offline_scoring.collect_inputs(evaluation, pipeline("bm25"), 3, shape, base), inputs)
    tiny = str(tmp_path / "tiny.toml")
    command = [sys.executable, "-m", "citewell.train.grid", packed, base, tmp_path / "out", "--inputs", inputs]
    done = subprocess.run(list(map(str, [*command, tiny, f"{tiny}@2"])), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    one, other = (load(tmp_path / "out" / name)["scores"] for name in ("tiny.inputs.npz", "tiny-seed-2.inputs.npz"))
    assert one.shape == other.shape == load(inputs)["rows"].shape
    assert not np.array_equal(one, other, equal_nan=True), "another seed gives another model"
    assert grid.train_and_score([tiny], packed, base, [inputs], tmp_path / "out") == [], "finished models are skipped"
    with pytest.raises(CitewellError, match=r"unknown setting 'hidden_size' in \[shape\]"):
        grid.train_and_score([str(tmp_path / "broken.toml")], packed, base, [inputs], tmp_path / "out", "cpu")
    with pytest.raises(CitewellError, match="re-ranks dense-context-abstract, but the inputs have candidates of bm25"):
        grid.train_and_score(["medic-textenh-after-dense"], packed, base, [inputs], tmp_path / "out", "cpu")
    with pytest.raises(CitewellError, match="reads contexts of another length"):
        grid.train_and_score(["medic-textenh-context-200"], packed, base, [inputs], tmp_path / "out", "cpu")
