"""Analyses of a study that are not tables of pipelines: `reproduce` runs them and prints them after the tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.reproduce import command
from citewell.errors import CitewellError
from citewell.evaluate import analyses, studies
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.studies import Analysis, Published, Study, Table
from tests.evaluate.small_set import small_set

TABLE = Table("Table 1", "BM25", "global", ["R@10"], ["R@10"], [])
CURVE = Analysis(
    "Figure 1",
    "Recall by depth",
    "depths",
    task="global",
    split="dev",
    settings={"depths": [1, 2]},
    published=Published(["depth", "R"], [["1", 0.25], ["2", 0.5]]),
    percent=True,
)


def depths(request: Request) -> Result:
    if request.settings.get("fails"):
        raise CitewellError("too few queries")
    rows: list[list[str | float]] = [[str(depth), 0.1 * depth, depth] for depth in request.settings["depths"]]
    return Result(["depth", "R", "queries"], rows, f"{request.folder.name}, {request.split}, {request.sample}", "lines")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """The only study, with one analysis that the tests define."""
    made = Study("Someone 2020", "A study.", [TABLE], [CURVE])
    monkeypatch.setattr(studies, "load", lambda name: made)
    monkeypatch.setattr(analyses, "ANALYSES", {"depths": f"{__name__}:depths"})
    return made


def run(folder: Path, *options: str) -> str:
    arguments = ["nogueira2020", str(folder), "--sample", "10", *options]
    return CliRunner().invoke(command, arguments, catch_exceptions=False).stdout


def test_an_analysis_is_printed_after_the_tables_next_to_the_published_figures(study: Study, tmp_path: Path) -> None:
    printed = run(small_set().write(tmp_path / "set"))
    after = printed[printed.index("Figure 1: Recall by depth") :]
    assert "0.25" in after and "20.00" in after and "set, dev, 10" in after
    assert "OTHER DATA, small, dev split" in after


def test_programs_read_the_result(study: Study, tmp_path: Path) -> None:
    (analysis,) = json.loads(run(small_set().write(tmp_path / "set"), "--json"))["analyses"]
    assert analysis["available"] and analysis["settings"] == {"depths": [1, 2]}
    assert analysis["published"]["rows"][0] == ["1", 0.25]
    assert analysis["ours"]["small"]["rows"][1] == ["2", 0.2, 2] and analysis["ours"]["small"]["plot"] == "lines"


def test_an_analysis_is_plotted_next_to_the_published_figures(study: Study, tmp_path: Path) -> None:
    run(small_set().write(tmp_path / "set"), "--out", str(tmp_path / "out"))
    drawn = (tmp_path / "out" / "plots" / "figure-1.svg").read_text("utf-8")
    assert "published" in drawn and "ours: small" in drawn
    assert "(plots/figure-1.svg)" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_a_set_without_the_task_is_left_out_and_a_failure_is_shown(study: Study, tmp_path: Path) -> None:
    local = small_set()
    local.toml = local.toml.replace('"global", ', "")
    assert "no available set has this task" in run(local.write(tmp_path / "local"))
    study.analyses[0].settings = {"fails": True}
    assert "small was not analysed: too few queries" in run(small_set().write(tmp_path / "set"))


def test_an_unknown_analysis_is_shown_as_missing(study: Study, tmp_path: Path) -> None:
    study.analyses[0].analysis = "unheard-of"
    assert "ours: missing: unheard-of" in run(small_set().write(tmp_path / "set"))


@pytest.mark.parametrize("name", studies.names())
def test_every_analysis_of_a_study_exists(name: str) -> None:
    for analysis in studies.load(name).analyses:
        assert analyses.load(analysis.analysis)
        assert analysis.split in ("dev", "test") and analysis.task in ("", "global", "local", "paragraph", "evidence")
        if analysis.published:
            assert all(len(row) == len(analysis.published.columns) for row in analysis.published.rows)
