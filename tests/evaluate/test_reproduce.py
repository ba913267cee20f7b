"""Studies: their tables are complete, and our figures are listed next to them; missing methods are marked as missing."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from citewell.cli.reproduce import command
from citewell.cli.set import command as sets
from citewell.evaluate import measures, studies
from citewell.evaluate import reproduce as reproducing
from citewell.evaluate.evaluation import Evaluation
from citewell.evaluate.outcomes import run_systems
from citewell.evaluate.reproduce import MEASURED, ReproducedRow
from citewell.evaluate.sentences import VIEWS
from citewell.evaluate.study_agreement import kendall_tau
from citewell.evaluate.study_grid import described, weights
from citewell.pipeline.registry import definitions
from tests.evaluate.small_set import small_set

STUDIES = ["aueb2020", "hybridcite2020", "medic2023", "nogueira2020", "nogueira2020navigation"]


def test_there_are_five_studies() -> None:
    assert studies.names() == STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_every_table_is_complete(name: str) -> None:
    study = studies.load(name)
    assert study.citation and study.about and study.tables
    for table in study.tables:
        assert table.task in ("global", "local", "paragraph", "evidence")
        assert table.split in ("dev", "test")
        bare = [measure.removeprefix(view) for measure in table.measures for view in ["", *VIEWS] if measure.startswith(view)]
        measures.check([measure for measure in bare if ":" not in measure])
        for row in table.rows:
            assert len(row.values) in (0, len(table.columns)), (table.name, row.method)
            assert row.pipeline or not row.settings


def test_figures_are_in_the_columns_of_the_study() -> None:
    tables = {table.name: table for table in studies.load("hybridcite2020").tables}
    assert [f"Figure {number}" in tables for number in range(4, 9)] == [True] * 5
    for name, recall in {"Table 2": 0.3760, "Figure 4": 0.3087, "Figure 5": 0.2802, "Figure 6": 0.3178}.items():
        hybrid = next(row for row in tables[name].rows if row.method.startswith("Hybrid: "))
        assert dict(zip(tables[name].columns, hybrid.values, strict=True))["Recall@10"] == recall


def test_a_row_says_whose_weights_it_runs_with() -> None:
    (table,) = [table for table in studies.load("medic2023").tables if table.name == "Table 5.3"]
    (row,) = [row for row in table.rows if row.method.startswith("SPECTER")]
    assert weights(row) == ["minilm"]
    assert described(ReproducedRow(row, MEASURED)) == "dense-context-abstract (weights: minilm)"


def test_the_rows_of_medic_are_the_pipelines_that_they_say() -> None:
    """The variant, the negatives, the regime, the first stage and the length of contexts are in the names of both."""
    for table in studies.load("medic2023").tables:
        assert all(row.pipeline in definitions() for row in table.rows if row.pipeline), table.name
        for row in table.rows:
            if not row.method.startswith("Text"):
                continue
            variant, *choices = row.method.split(", ")
            strict = "strict" in choices or table.name.startswith("Table 5.6")
            chosen = {"standard", "strict", "random"}
            negatives = "".join(
                f"-negatives-{choice.replace(' neighbors', '').replace(' ', '-')}" for choice in choices if choice not in chosen
            )
            expected = f"{variant.lower()}{negatives}{'-strict' if strict else ''}"
            expected += "-after-dense" if "SPECTER" in table.name else "-context-200" if table.context_characters == 200 else ""
            assert row.pipeline == expected, (table.name, row.method)


def test_percentages_are_next_to_percentages() -> None:
    for name in STUDIES:
        for table in studies.load(name).tables:
            assert table.percent == any("%" in column for column in table.columns)
            largest = max((value for row in table.rows for value in row.values if not math.isnan(value)), default=0)
            assert table.percent == (largest > 1), (name, table.name)


def test_our_figures_are_listed_and_missing_methods_marked(tmp_path: Path) -> None:
    folder = small_set().write(tmp_path / "set")
    done = CliRunner().invoke(command, ["hybridcite2020", str(folder), "--sample", "10", "--json"], catch_exceptions=False)
    content = json.loads(done.stdout)
    assert content["note"] == "the study's figures and ours are from different data"
    rows = {row["method"]: row for row in content["tables"][0]["rows"]}
    assert rows["BM25"]["status"] == "measured"
    assert set(rows["BM25"]["ours"]["small"]) == {"RR@10", "R@10", "AP@10", "nDCG-HC@10"}
    assert rows["BM25"]["published"]["Recall@10"] == 0.2836
    for row in rows.values():
        if row["pipeline"] not in definitions():
            assert row["status"] == "missing" and row["ours"] == {}


def test_a_study_without_any_set_is_still_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CITEWELL_SETS", raising=False)
    done = CliRunner().invoke(command, ["medic2023"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "no available set has this task" in done.stdout
    assert "TextBibEnh-WS" in done.stdout


def test_the_settings_and_rules_of_a_table_apply(tmp_path: Path) -> None:
    folder = small_set().write(tmp_path / "set")
    done = CliRunner().invoke(command, ["medic2023", str(folder), "--sample", "20", "--json"], catch_exceptions=False)
    tables = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
    shorter = tables["Table 4.2, 200 characters"]
    assert shorter["lenient"] is True and shorter["context_characters"] == 200 and tables["Table 5.1"]["split"] == "dev"
    assert tables["Table 5.4, after SPECTER"]["found_by"] == "dense-context-abstract"
    tried = [row["ours"]["small"]["R@1000"] for row in tables["Table 5.1"]["rows"]]
    assert len(tried) == 10 and all(math.isfinite(value) for value in tried)


def run(study: str, folder: Path, *options: str) -> dict[str, Any]:
    arguments = [study, str(folder), "--sample", "10", "--no-training", "--json", *options]
    content: dict[str, Any] = json.loads(CliRunner().invoke(command, arguments, catch_exceptions=False).stdout)
    return content


def test_a_table_with_a_rule_of_its_own_is_measured_strictly_too(tmp_path: Path) -> None:
    content = run("medic2023", small_set().write(tmp_path / "set"))
    tables = {table["name"]: table for table in content["tables"]}
    name = next(name for name in tables if name.startswith("Table 4.2"))
    inserted = next(row for row in tables[name]["rows"] if row["method"] == "BM25")
    assert inserted["ours_by_study_rule"]["small"].keys() == inserted["ours"]["small"].keys() == {"R@10", "RR"}
    assert tables["Table 5.1"]["queries_by_study_rule"] == {}
    low, high = inserted["intervals"]["small"]["RR"]
    assert low <= inserted["ours"]["small"]["RR"] <= high


class Rankings:
    """Keeps the rankings of papers of one system."""

    def __init__(self) -> None:
        self.run: dict[str, dict[str, float]] = {}

    def qrels(self, batch: Any) -> None:
        pass

    def rankings(self, name: str, batch: Any) -> None:
        self.run |= batch[""]


def test_a_finished_row_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small_set().write(tmp_path / "set")
    first = run("nogueira2020", folder)
    ran: list[str] = []

    def counted(queries: Any, libraries: Any, pipelines: Any, **named: Any) -> Any:
        ran.extend(each.name for each in pipelines)
        return run_systems(queries, libraries, pipelines, **named)

    monkeypatch.setattr(reproducing, "run_systems", counted)
    assert run("nogueira2020", folder) == first and ran == []
    assert run("nogueira2020", folder, "--seed", "1") != first and "bm25" in ran
    ran.clear()
    assert CliRunner().invoke(sets, ["cache", "--clear"]).exit_code == 0
    assert run("nogueira2020", folder) == first and "bm25" in ran


def test_the_report_has_every_table_with_a_plot_and_the_results(tmp_path: Path) -> None:
    content = run("nogueira2020", small_set().write(tmp_path / "set"), "--out", str(tmp_path / "out"))
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    for table in studies.load("nogueira2020").tables:
        assert f"## {table.name}" in report
    assert studies.load("nogueira2020").differences in report and "Kendall" in report
    plots = re.findall(r"\]\((plots/[^)]*\.svg)\)", report)
    assert plots and all("published" in (tmp_path / "out" / plot).read_text("utf-8") for plot in plots)
    written = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert written["tables"] == content["tables"]


def test_a_quick_run_says_so_on_every_table_and_keeps_nothing_as_real(tmp_path: Path, cache: Path) -> None:
    folder = small_set().write(tmp_path / "set")
    arguments = ["nogueira2020", str(folder), "--quick", "--no-training"]
    printed = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout
    assert printed.count("QUICK") == len(studies.load("nogueira2020").tables)
    assert not (cache / "sets").exists() and not (cache / "results").exists() and (cache / "quick" / "results").exists()


@pytest.mark.parametrize(
    ("one", "other", "tau"),
    [
        ([1, 2, 3], [10, 20, 30], 1),
        ([1, 2, 3], [3, 2, 1], -1),
        ([1, 2, 3, 4], [1, 2, 4, 3], 2 / 3),
        ([1, 1, 2], [1, 2, 3], 0.82),
    ],
)
def test_the_agreement_of_two_orders(one: list[float], other: list[float], tau: float) -> None:
    assert kendall_tau(one, other) == pytest.approx(tau, abs=5e-3)
    assert math.isnan(kendall_tau([1, 1], [1, 2]))


def test_rankings_made_elsewhere_stand_in_for_a_pipeline(tmp_path: Path) -> None:
    folder = small_set().write(tmp_path / "set")
    runs = tmp_path / "runs" / "small" / "dev"
    runs.mkdir(parents=True)
    Evaluation(folder, "global", "dev", sample=10).run(["bm25"], listener=(made := Rankings()))
    lines = [f"{query} Q0 {paper} 1 {score} x\n" for query, papers in made.run.items() for paper, score in papers.items()]
    (runs / "nogueira-bert.run").write_text("".join(lines))
    rows = {row["pipeline"]: row for row in run("nogueira2020", folder, "--runs", str(tmp_path / "runs"))["tables"][1]["rows"]}
    bm25 = run("nogueira2020", folder)["tables"][2]["rows"][2]["ours"]["small"]
    assert rows["nogueira-bert"]["status"] == "measured" and rows["nogueira-scibert"]["status"] == "missing"
    assert rows["nogueira-bert"]["ours"]["small"]["RR"] == bm25["RR"] > 0 and rows["nogueira-bert"]["runs"]
    (runs / "nogueira-bert.run").write_text(lines[0])
    rows = {row["pipeline"]: row for row in run("nogueira2020", folder, "--runs", str(tmp_path / "runs"))["tables"][1]["rows"]}
    assert "same sample and seed" in rows["nogueira-bert"]["failed"]["small"]
