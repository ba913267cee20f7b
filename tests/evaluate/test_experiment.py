"""An experiment is one call: what it takes, what its report looks like, and that its figures and times can be trusted."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import citewell.evaluate
from citewell.errors import CitewellError
from citewell.evaluate import Evaluation, Report, experiment
from citewell.evaluate.runner import Runner
from citewell.pipeline.registry import pipeline
from citewell.progress import Progress
from tests.evaluate.small_set import small_set


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_set().write(tmp_path / "set")


class Recorder(Progress):
    """Records every step with its total and how much of it is done."""

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []

    def start(self, step: str, total: int | None = None, unit: str = "") -> None:
        self.steps.append([step, total, unit, 0])

    def advance(self, count: int = 1) -> None:
        self.steps[-1][3] += count

    def update(self, done: int, total: int | None = None) -> None:
        self.steps[-1][3] = done


@pytest.fixture
def report(folder: Path) -> Report:
    return experiment(folder, "local", ["bm25", "bm25-contexts"], sample=20, measures=["R@10", "RR"])


def test_one_call_gives_the_figures_of_an_evaluation(folder: Path, report: Report) -> None:
    alone = Evaluation(folder, "local", sample=20).report(["bm25", "bm25-contexts"])
    for ours, theirs in zip(report.experiment.outcomes, alone.experiment.outcomes, strict=True):
        assert ours.name == theirs.name and ours.mean("RR") == theirs.mean("RR")
    assert {each.measure for each in report.comparisons} == {"R@10", "RR"}


def test_a_report_prints_as_a_table(report: Report) -> None:
    lines = str(report).splitlines()
    assert lines[0] == "small · local · test · 20 queries · sampled with seed 0 · strict in time"
    assert lines[1].split() == ["system", "R@10", "RR", "CPU", "ms/query"]
    assert lines[2].startswith("bm25 ") and f"{report.experiment.outcomes[0].mean('RR'):.4f}" in lines[2]
    assert "differences from bm25" in str(report) and repr(report) == str(report)


def test_a_report_shows_as_html(report: Report) -> None:
    shown = report._repr_html_()
    assert shown.count("<tr>") == 3 and "<td>bm25-contexts</td>" in shown and "<b>" in shown


def test_a_data_frame_needs_pandas(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CitewellError, match="pip install pandas"):
        report.to_frame()


def test_a_data_frame_has_a_row_for_each_system(report: Report) -> None:
    pytest.importorskip("pandas")
    frame = report.to_frame()
    assert list(frame.index) == ["bm25", "bm25-contexts"]
    assert frame.loc["bm25", "R@10"] == report.experiment.outcomes[0].mean("R@10")


def test_pipelines_made_in_code_are_compared_too(folder: Path) -> None:
    made = [pipeline("bm25", k1=0.5), pipeline("bm25", k1=2.0)]
    report = experiment(folder, "global", ["bm25", *made, replace(made[0], name="mine")])
    assert [outcome.name for outcome in report.experiment.outcomes] == ["bm25", "bm25 (2)", "bm25 (3)", "mine"]
    assert report.experiment.outcomes[1].ranks == report.experiment.outcomes[3].ranks
    with pytest.raises(CitewellError, match="the baseline 'bm26' is not among"):
        experiment(folder, "global", ["bm25"], baseline="bm26")


def test_what_is_exported_is_listed() -> None:
    assert {"experiment", "Evaluation", "Report"} <= set(dir(citewell.evaluate))
    with pytest.raises(AttributeError, match="no attribute 'bench'"):
        _ = citewell.evaluate.bench


# -- times ----------------------------------------------------------------------------------------------------------------


def test_every_timed_query_has_a_request_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request remembers what was computed for it: ranking with the same one again would measure a lookup."""
    requests = []
    make = Runner.request

    def recorded(self: Runner, *arguments: Any) -> Any:
        requests.append(make(self, *arguments))
        return requests[-1]

    monkeypatch.setattr(Runner, "request", recorded)
    systems = ["bm25", "bm25-contexts"]
    report = experiment(folder, "local", systems, sample=10)
    warm_up = len(systems)
    assert len({id(request) for request in requests}) == len(requests) == warm_up + 10 * len(systems)
    for outcome in report.experiment.outcomes:
        assert outcome.seconds is not None and len(outcome.seconds) == 10


# -- progress -------------------------------------------------------------------------------------------------------------


def test_building_and_running_report_their_progress(folder: Path) -> None:
    progress = Recorder()
    experiment(folder, "local", ["bm25", "bm25-contexts"], sample=10, progress=progress)
    storing, indexing, running = progress.steps
    assert storing[0] == "library of small 2020: storing" and storing[2] == "records" and 60 < storing[3] <= storing[1]
    assert indexing[:3] == ["library of small 2020: indexing", 60, "papers"] and indexing[3] > 0
    assert running == ["running queries", 20, "rankings", 20]


def test_encoding_reports_its_progress(folder: Path) -> None:
    progress = Recorder()
    experiment(folder, "global", ["static-citewell"], sample=2, progress=progress)
    encoding = [step for step in progress.steps if step[0].startswith("encoding with citewell")]
    assert encoding and encoding[0][1:] == [60, "papers", 60]


# -- optional packages, and what evaluate may import ----------------------------------------------------------------------


def test_without_ir_measures_the_error_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    for measures in ([], ["R@10"]):
        with pytest.raises(CitewellError, match=r"pip install 'citewell\[evaluate\]'"):
            experiment(folder, "local", ["bm25"], measures=measures)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "citewell.evaluate.plots", raising=False)
    with pytest.raises(CitewellError, match=r"pip install 'citewell\[evaluate\]'"):
        import citewell.evaluate.plots  # noqa: F401


@pytest.mark.parametrize("path", sorted(Path(citewell.evaluate.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_evaluate_imports_neither_train_nor_the_command_line(path: Path) -> None:
    """Not even inside a function: the caller supplies what trains models."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        assert not any(name.startswith(("citewell.train", "citewell.cli")) for name in names), ast.unparse(node)
