"""The analyses of Medić's thesis, on a set of five papers whose figures are computed by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.evaluate import analyses
from citewell.evaluate.analyses.contract import Request, Result
from citewell.evaluate.analyses.topic_attention import attention_shares, topic_span
from citewell.models import encoder

PAPERS: list[dict[str, Any]] = [
    {"id": "old", "title": "Anchor barge beacon", "year": 2010},
    {"id": "other", "title": "Anchor barge", "year": 2015},
    {"id": "young", "title": "Anchor", "year": 2018},
    {"id": "apart", "title": "Zebra", "year": 2017},
    {
        "id": "asks",
        "title": "Finding ships",
        "abstract": "Anchor barge beacon.",
        "year": 2020,
        "references": ["old", "young", "apart"],
    },
]
"""BM25 ranks old, other, young for the query, and does not return the paper that shares no word with it."""
PARAGRAPH = {"id": "p", "citing": "asks", "cited": ["old", "young", "apart"], "topic_sentence": "Anchor", "text": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    years = "train_until = 2018\ndev = [2019]\ntest = [2020]\n"
    (tmp_path / "set.toml").write_text(f'name = "toy"\ntasks = ["paragraph"]\n{years}')
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in PAPERS))
    (tmp_path / "paragraphs.jsonl").write_text(json.dumps(PARAGRAPH) + "\n")
    return tmp_path


def analysed(name: str, folder: Path, **settings: Any) -> Result:
    return analyses.load(name)(Request(folder, settings={"systems": ["bm25"], **settings}))


def test_mean_ranks_by_year_and_by_gap(folder: Path) -> None:
    # Four papers can be returned and three are: the fourth has rank 4.
    by_year = analysed("rank-by-year", folder)
    assert by_year.columns == ["published in", "mean rank, bm25", "cited papers"] and by_year.plot == "lines"
    assert by_year.rows == [["2010", 1.0, 1], ["2017", 4.0, 1], ["2018", 3.0, 1]]
    assert "bm25 33% of the pairs" in by_year.note
    assert [row[0] for row in analysed("rank-by-year", folder, by="gap").rows] == ["2", "3", "10"]
    few = analysed("rank-by-year", folder, fewest=2)
    assert few.rows == [] and "3 cited papers of years with fewer than 2 are left out" in few.note


def test_correlations_with_the_gap_in_years(folder: Path) -> None:
    rank, jaccard = analysed("year-correlations", folder).rows
    # Gaps 10, 2, 3; ranks 1, 3, 4; Jaccard indexes 3/5, 1/5, 0.
    assert rank[:2] == ["rank by bm25", pytest.approx(-12 / math.sqrt(38 * 42 / 9))]
    expected = np.corrcoef([10, 2, 3], [3 / 5, 1 / 5, 0])[0, 1]
    assert jaccard[1] == pytest.approx(expected) and 0 < float(jaccard[2]) < 1


def test_distances_of_titles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lengths:
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.array([[len(text), 1.0] for text in texts], np.float32)

    monkeypatch.setattr(encoder, "available", lambda name: True)
    monkeypatch.setattr(encoder, "load", lambda name: Lengths())
    two = [{"pipeline": "bm25", "name": "short", "settings": {"size": 1}}, "bm25"]
    result = analysed("title-distances", folder, systems=two, depth=2, encoder="lengths")
    # "Anchor" has 6 characters, the two best titles 19 and 12.
    assert result.rows == [["short", 13.0], ["bm25", 9.5]] and "bm25 − short: -3.5000" in result.note


def test_attention_to_the_topic_sentence(folder: Path) -> None:
    pytest.importorskip("onnx")
    ((name, shares, first, tokens),) = analysed("topic-attention", folder, systems=["dense-citewell"]).rows
    # [CLS] paragraph : anchor [SEP] finding ships [SEP] anchor barge beacon . [SEP]
    assert name == "dense-citewell" and tokens == pytest.approx(1 / 13)
    assert 0 < float(shares) < 0.5 and 0 < float(first) < 0.5
    with pytest.raises(CitewellError, match="bm25 has no encoder of queries"):
        analysed("topic-attention", folder)


def test_shares_of_attention() -> None:
    attention = np.array([[[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.6, 0.0, 0.4]]]], np.float32)
    assert attention_shares(attention, 1, 3) == pytest.approx([(0.9 + 0.5 + 0.4) / 3, 0.9, 2 / 3])


@pytest.mark.parametrize(
    ("tokens", "topic", "span"),
    [
        ([1, 7, 8, 9, 2, 5, 2], [7, 8, 9], (1, 4)),
        ([1, 5, 7, 8, 2], [7, 8, 9], (2, 4)),  # cut by the token budget
        ([1, 7, 5, 2, 5, 2], [7, 8, 9], (0, 0)),  # its first word alone is not it
        ([1, 5, 2], [], (0, 0)),
    ],
)
def test_the_topic_sentence_is_found_among_the_tokens(tokens: list[int], topic: list[int], span: tuple[int, int]) -> None:
    assert topic_span(tokens, topic, {1, 2}) == span


def test_examples_side_by_side(folder: Path) -> None:
    result = analysed("side-by-side", folder, systems=["bm25", "bm25-contexts"], depth=2)
    assert result.columns == ["", "bm25", "bm25-contexts"]
    assert result.rows[:3] == [
        ["Finding ships (2020). Topic sentence: Anchor", "", ""],
        ["1", "Anchor barge beacon [cited]", "Anchor barge beacon [cited]"],
        ["2", "Anchor barge", "Anchor barge"],
    ]
    assert ["cites: Zebra (2017)", "not returned", "not returned"] in result.rows
    with pytest.raises(CitewellError, match="no query fits the rule none-cited"):
        analysed("side-by-side", folder, choose="none-cited")


def test_recall_by_depth_and_contexts_that_are_found(folder: Path) -> None:
    curve = analysed("recall-by-depth", folder, depths=[1, 2, 3])
    assert curve.rows == [["1", pytest.approx(1 / 3)], ["2", pytest.approx(1 / 3)], ["3", pytest.approx(2 / 3)]]
    assert analysed("found-contexts", folder).rows == [["bm25", 1, 1, 1.0]]
    assert analysed("set-sizes", folder, task="paragraph").rows == [["toy", 0, 0, 1, 5]]


def test_two_systems_compared(folder: Path) -> None:
    one = {"pipeline": "bm25", "name": "one", "settings": {"size": 1}}
    result = analysed("two-systems", folder, systems=["bm25", one])
    assert result.rows[0] == ["R@10", pytest.approx(2 / 3), pytest.approx(1 / 3), pytest.approx(result.rows[0][3])]
    assert result.rows[1] == ["RR", 1.0, 1.0, 1.0]
    with pytest.raises(CitewellError, match="compares two systems"):
        analysed("two-systems", folder)


def test_a_system_without_weights_is_left_out_with_the_way_to_get_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_MODELS", str(tmp_path / "none"))
    both = analysed("rank-by-year", folder, systems=["bm25", "paragraph-quadruplet"])
    assert len(both.columns) == 3 and "citewell train medic-paragraph-quadruplet" in both.note
    with pytest.raises(CitewellError, match="citewell train medic-paragraph-quadruplet"):
        analysed("rank-by-year", folder, systems=["paragraph-quadruplet"])
