"""Plots of an evaluation of a made-up set: every file exists, opens, and is the same when drawn again."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.plots import DPI, OUTLINE, SIZE, best_cell, draw_report, heat_map
from citewell.evaluate.report import Report
from citewell.evaluate.slices import RANKS, recall_curve

SLICES = ["by-year-gap", "by-citation-count", "by-term-overlap"]
WORDS = "boat gull tide pier harbour wing rope sail mast anchor fog lamp net crab wave sand storm gate crane buoy".split()


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Sixty papers over twelve years, each citing a few earlier ones in words that they share."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "set.toml").write_text(
        'name = "toy"\ntasks = ["global", "local"]\ntrain_until = 2008\ndev = [2009, 2010]\ntest = [2011, 2012]\n'
    )
    dice = random.Random(7)
    papers: list[dict[str, Any]] = []
    contexts: list[dict[str, Any]] = []
    for number in range(60):
        words = dice.sample(WORDS, 6)
        cited = dice.sample(range(number), min(number, 4))
        papers.append(
            {
                "id": f"p{number}",
                "title": f"{words[0]} {words[1]} paper{number}",
                "abstract": " ".join(words[2:]),
                "year": 2001 + number // 5,
                "references": [f"p{other}" for other in cited],
            }
        )
        for other in cited:
            text = f"{papers[other]['title']} {dice.choice(WORDS)} TARGETCIT {dice.choice(WORDS)}"
            contexts.append({"id": f"c{len(contexts)}", "citing": f"p{number}", "cited": [f"p{other}"], "text": text})
    (folder / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    (folder / "contexts.jsonl").write_text("".join(json.dumps(context) + "\n" for context in contexts))
    return Evaluation(folder, "local")


@pytest.fixture(scope="module")
def report(evaluation: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CITEWELL_CACHE", str(tmp_path_factory.mktemp("cache")))
        return evaluation.report(["bm25", "bm25-title", "bm25-key-terms", "bm25-contexts"])


def names(files: list[Path]) -> list[str]:
    return [path.stem for path in files if path.suffix == ".png"]


def with_systems(report: Report, count: int) -> Report:
    """The report as if this many systems had been measured."""
    known = report.experiment.outcomes
    outcomes = [replace(known[at % len(known)], name=f"a system with quite a long name, ${at}$") for at in range(count)]
    return replace(report, experiment=replace(report.experiment, outcomes=outcomes))


def test_every_plot_exists_as_png_and_svg(report: Report, evaluation: Evaluation, tmp_path: Path) -> None:
    files = draw_report(report, evaluation, tmp_path / "new" / "folder")
    assert names(files) == ["recall-at-k", *SLICES, "query-forms"]
    assert sorted(files) == sorted((tmp_path / "new" / "folder").iterdir())
    for path in files:
        if path.suffix == ".png":
            with Image.open(path) as picture:
                picture.load()
                assert picture.size == (SIZE[0] * DPI, SIZE[1] * DPI)
        else:
            assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_a_drawing_is_the_same_when_drawn_again(report: Report, evaluation: Evaluation, tmp_path: Path) -> None:
    one, other = (draw_report(report, evaluation, tmp_path / name) for name in ("one", "other"))
    for first, second in zip(one, other, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_the_recall_curve_meets_the_measures(report: Report) -> None:
    for outcome in report.experiment.outcomes:
        curve = dict(zip(RANKS.tolist(), recall_curve(outcome.ranks).tolist(), strict=True))
        for k in (5, 10, 20, 50, 100, 1000):
            assert curve[k] == pytest.approx(outcome.mean(f"R@{k}"))


@pytest.mark.parametrize("count", [1, 12, 25])
def test_one_system_or_many(report: Report, evaluation: Evaluation, tmp_path: Path, count: int) -> None:
    assert names(draw_report(with_systems(report, count), evaluation, tmp_path)) == ["recall-at-k", *SLICES]


def test_one_query(evaluation: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    single = Evaluation(evaluation.folder, "global", sample=1, lenient=True)
    files = draw_report(single.report(["bm25", "bm25-title"]), single, tmp_path / "plots")
    assert names(files) == ["recall-at-k", *SLICES, "query-forms"]


def test_queries_with_merged_relevant_papers_are_left_out(report: Report, evaluation: Evaluation, tmp_path: Path) -> None:
    experiment = replace(report.experiment, relevant=[[] for _ in report.experiment.relevant])
    assert names(draw_report(replace(report, experiment=experiment), evaluation, tmp_path))[1:4] == SLICES


def test_a_set_without_years_has_no_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "set.toml").write_text('name = "claims"\ntasks = ["evidence"]\n')
    (tmp_path / "papers.jsonl").write_text(json.dumps({"id": "a", "title": "Boats", "sentences": ["Boats float."]}) + "\n")
    claim = {"id": "q", "question": "Do boats float?", "documents": ["a"], "split": "test"}
    (tmp_path / "evidence.jsonl").write_text(json.dumps(claim) + "\n")
    evidence = Evaluation(tmp_path, "evidence")
    assert names(draw_report(evidence.report(["bm25", "bm25-title"]), evidence, tmp_path / "plots")) == ["recall-at-k"]


def outlined(path: Path) -> tuple[float, float]:
    """Where in a picture the middle of the outline is, from its left and from its bottom."""
    with Image.open(path) as picture:
        pixels: npt.NDArray[np.int64] = np.asarray(picture.convert("RGB"), np.int64)
    outline = [int(OUTLINE[at : at + 2], 16) for at in (1, 3, 5)]
    rows, columns = np.nonzero((np.abs(pixels - outline) <= 2).all(axis=2))
    return (columns.min() + columns.max()) / 2, pixels.shape[0] - (rows.min() + rows.max()) / 2


def test_the_best_cell_of_a_heat_map_is_outlined(tmp_path: Path) -> None:
    middles = {}
    for row in range(3):
        for column in range(4):
            values = np.full((3, 4), 0.25)
            values[row, column] = 0.5
            assert best_cell(values) == (row, column)
            path = tmp_path / f"b-{row}.k1-{column}"
            files = heat_map(values, "k1", [0.5, 1, 2, 3], "b", [0, 0.5, 1], "toy · local · dev", "R@10", path)
            assert [file.name for file in files] == [f"{path.name}.png", f"{path.name}.svg"]
            middles[row, column] = outlined(files[0])
    for (row, column), (x, y) in middles.items():
        assert x == pytest.approx(middles[0, column][0], abs=1.5) and (not column or x > middles[row, column - 1][0] + 20)
        assert y == pytest.approx(middles[row, 0][1], abs=1.5) and (not row or y > middles[row - 1, column][1] + 20)


def test_a_heat_map_of_equals_or_of_nothing(tmp_path: Path) -> None:
    assert best_cell(np.array([[np.nan, 0.2], [0.3, 0.3]])) == (1, 0)
    assert best_cell(np.full((2, 2), np.nan)) is None
    for name, value in (("equal", 0.2), ("nothing", np.nan)):
        files = heat_map(np.full((1, 2), value), "k1", [1, 2], "form", ["near"], "toy", "R@10", tmp_path / name)
        assert all(file.is_file() for file in files)


def test_a_heat_map_is_the_same_when_drawn_again(tmp_path: Path) -> None:
    one, other = (
        heat_map(np.eye(3), "x", [1, 2, 3], "y", [1, 2, 3], "toy", "RR", tmp_path / name / "map")[1].read_bytes()
        for name in ("one", "other")
    )
    assert one == other


def test_counts_are_not_drawn_next_to_fractions() -> None:
    from matplotlib.figure import Figure

    from citewell.evaluate.analyses.contract import Result
    from citewell.evaluate.study_plots import _curves

    def drawn(rows: list[list[str | float]], factor: float = 1.0) -> list[str]:
        axes = Figure().subplots()
        _curves(axes, Result(["years", "mean rank", "papers"], rows), "lines", factor)
        return [str(line.get_label()) for line in axes.lines]

    assert drawn([["1", 12.5, 40], ["2", 30.0, 7]]) == ["mean rank"]
    assert drawn([["1", 12, 40], ["2", 30, 7]]) == ["mean rank", "papers"], "counts alone are drawn"
    assert drawn([["1", 0.5, 40]], factor=100.0) == ["mean rank"]
