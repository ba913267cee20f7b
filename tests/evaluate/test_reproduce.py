"""Studies: their tables are complete, and our figures are listed next to them; missing methods are marked as missing."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell.cli.reproduce import command
from citewell.evaluate import measures, studies
from citewell.evaluate.sentences import VIEWS
from citewell.evaluate.study_report import _described, weights
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
        hybrid = next(row for row in tables[name].rows if row.pipeline == "hybridcite-hybrid")
        assert dict(zip(tables[name].columns, hybrid.values, strict=True))["Recall@10"] == recall


NAMED = re.compile(r"specter|scincl|scibert|biobert|mpnet|minilm|bert|electra", re.IGNORECASE)


@pytest.mark.parametrize("name", STUDIES)
def test_a_row_that_names_a_model_says_whose_weights_it_runs_with(name: str) -> None:
    for table in studies.load(name).tables:
        for row in table.rows:
            if row.pipeline in definitions() and NAMED.search(row.method.replace("TextBib", "")):
                assert weights(row), (table.name, row.method, row.pipeline)
    (table,) = [table for table in studies.load("medic2023").tables if table.name == "Table 5.3"]
    (row,) = [row for row in table.rows if row.method.startswith("SPECTER")]
    assert weights(row) == ["minilm"] and _described(row) == "dense-context-abstract (weights: minilm)"


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
