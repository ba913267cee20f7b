"""Grids and their best point; tuning never uses the test split."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from citewell.cli.tune import command
from citewell.errors import CitewellError
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.tuning import parse_grid, tune
from citewell.expand.navigate import Navigate
from citewell.fuse.ltr import LTR
from citewell.fuse.reciprocal_rank import ReciprocalRank
from citewell.pipeline.registry import pipeline
from citewell.retrieve.bm25 import BM25
from tests.evaluate.small_set import small_set


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_set().write(tmp_path / "set")


def test_every_point_equals_its_evaluation(folder: Path) -> None:
    evaluation = Evaluation(folder, "local", "dev")
    tuned = tune(evaluation, "bm25", {"k1": [0.0, 1.2], "b": [0.0, 0.75, 1.0]}, "RR")
    assert [point.settings for point in tuned.points][:2] == [{"k1": 0.0, "b": 0.0}, {"k1": 0.0, "b": 0.75}]
    for point in tuned.points:
        alone = evaluation.run([pipeline("bm25", **point.settings)]).outcomes[0]
        assert point.value == pytest.approx(alone.mean("RR"))
    assert tuned.best.value == max(point.value for point in tuned.points)
    assert tuned.matrix().shape == (3, 2)
    assert tuned.matrix()[2, 1] == tuned.points[5].value


def test_tuning_on_the_test_split_is_an_error(folder: Path) -> None:
    with pytest.raises(CitewellError, match="tune on the dev split"):
        tune(Evaluation(folder, "local", "test"), "bm25", {"k1": [1.0]}, "RR")


def test_grids_are_read_as_written() -> None:
    assert parse_grid(["k1=0.5,2", "form=text,near", "fields.own=1"]) == {
        "k1": [0.5, 2],
        "form": ["text", "near"],
        "fields.own": [1],
    }
    assert parse_grid(["seeds=300,300+700", "weights=1.0+0.5"]) == {"seeds": [300, (300, 700)], "weights": [(1.0, 0.5)]}
    navigate = pipeline("navigate", seeds=200).stages[1]
    assert isinstance(navigate, Navigate) and navigate.seeds == (200,)
    for wrong in (["k1"], ["=1"], ["k1="], []):
        with pytest.raises(CitewellError):
            parse_grid(wrong)


def test_pipelines_within_a_pipeline_are_given_by_name() -> None:
    fused = pipeline("linked-fusion", of=["bm25", "dense"]).stages[0]
    assert isinstance(fused, ReciprocalRank) and fused.of == (pipeline("bm25"), pipeline("dense"))
    learned = pipeline("learned", also="bm25").stages[0]
    assert isinstance(learned, LTR) and learned.also == (pipeline("bm25"),)


def test_a_part_of_a_parameter_can_be_tuned() -> None:
    changed = pipeline("bm25-contexts", **{"fields.cited": 0.5, "k1": 3.0}).stages[0]
    assert isinstance(changed, BM25)
    assert changed.fields == {"own+cited": 1.0, "cited": 0.5}
    assert changed.k1 == 3.0
    with pytest.raises(CitewellError, match="No stage of the pipeline 'bm25' has a parameter 'k9'"):
        pipeline("bm25", k9=1)


def test_the_command_prints_a_heat_map_and_draws_it(folder: Path, tmp_path: Path) -> None:
    arguments = [str(folder), "--grid", "k1=0.5,1.2", "b=0.25,0.75", "--task", "local", "--measure", "R@10"]
    done = CliRunner().invoke(command, [*arguments, "--plot", str(tmp_path / "heat.png")], catch_exceptions=False)
    assert done.exit_code == 0
    assert "small · local · dev · 48 queries · bm25 · R@10" in done.stdout
    assert "best: k1 = " in done.stdout
    assert (tmp_path / "heat.png").stat().st_size > 1000 and (tmp_path / "heat.svg").stat().st_size > 1000
    refused = CliRunner().invoke(command, [str(folder), "--grid", "k1=1", "--plot", str(tmp_path / "x")])
    assert refused.exit_code == 2 and "exactly two parameters" in refused.output


def test_json_lists_every_point(folder: Path) -> None:
    done = CliRunner().invoke(command, [str(folder), "--grid", "k1=0.5,1.2", "--json"], catch_exceptions=False)
    tuned = json.loads(done.stdout)
    assert tuned["split"] == "dev" and tuned["task"] == "global"
    assert [point["settings"]["k1"] for point in tuned["points"]] == [0.5, 1.2]
    assert np.isfinite([point["value"] for point in tuned["points"]]).all()
