"""The training curve: which dev measures belong to the weights that are kept, and the curves of the models of a stack."""

from __future__ import annotations

from pathlib import Path

from citewell.train.curve import Curve, copy_part, dev_figures


def curve(folder: Path, *values: dict[str, float]) -> Path:
    folder.mkdir(exist_ok=True)
    written = Curve(folder)
    written.truncate(0)
    for step, each in enumerate(values, 1):
        written.log(step, step, each)
    return folder


def test_the_dev_measures_are_those_of_the_best_step(tmp_path: Path) -> None:
    values = [
        {"small local RR": 0.1, "best": 0.1},
        {"small local RR": 0.3, "best": 0.3},
        {"loss": 1.0},
        {"small local RR": 0.2},
    ]
    assert dev_figures(curve(tmp_path / "kept", *values)) == {"small local": {"RR": 0.3}}
    last = [{name: value for name, value in each.items() if name != "best"} for each in values]
    assert dev_figures(curve(tmp_path / "plain", *last)) == {"small local": {"RR": 0.2}}
    assert dev_figures(tmp_path / "absent") == {}


def test_a_model_of_a_stack_has_its_own_curve(tmp_path: Path) -> None:
    first = {"one small local RR": 0.4, "one best": 0.4, "one-strict small local RR": 0.9, "one-strict best": 0.9}
    stack = curve(tmp_path / "stack", first, {"one small local RR": 0.2, "one-strict small local RR": 0.8}, {"loss": 2.0})
    (tmp_path / "model").mkdir()
    copy_part(stack, "one", tmp_path / "model")
    assert dev_figures(tmp_path / "model") == {"small local": {"RR": 0.4}}
    assert "strict" not in (tmp_path / "model" / "curve.csv").read_text()
