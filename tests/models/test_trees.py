"""Trees in numpy, compared with LightGBM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from citewell.models.trees import Trees

lightgbm = pytest.importorskip("lightgbm")

COLUMNS = 5


def trained() -> tuple[Any, Trees]:
    """A ranker over columns with and without missing values, one of them binary."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(1200, COLUMNS))
    rows[draw.random(rows.shape) < 0.15] = np.nan
    rows[:, 3] = draw.normal(size=len(rows))
    rows[:, 4] = draw.random(len(rows)) < 0.5
    labels = (np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 1]) * rows[:, 3] > 0.3).astype(int)
    parameters = {"objective": "lambdarank", "verbose": -1, "num_leaves": 12, "num_threads": 1, "seed": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(rows, labels, group=[40] * 30), 25)
    return booster, Trees.of_lightgbm(booster.dump_model())


BOOSTER, TREES = trained()

values = st.one_of(
    st.floats(-5, 5, width=32), st.sampled_from([0.0, 1.0, -0.0, 1e-36, np.nan, np.inf, -np.inf]), st.just(np.nan)
)
tables = arrays(np.float64, st.tuples(st.integers(1, 20), st.just(COLUMNS)), elements=values)


@settings(max_examples=80, deadline=None)
@given(tables)
def test_scores_equal_lightgbm(rows: Any) -> None:
    np.testing.assert_allclose(TREES.scores(rows), BOOSTER.predict(rows, num_threads=1), rtol=0, atol=1e-9)


@settings(max_examples=80, deadline=None)
@given(tables)
def test_contributions_add_up_to_the_score(rows: Any) -> None:
    common = TREES.value[TREES.roots].sum()
    np.testing.assert_allclose(common + TREES.contributions(rows).sum(axis=1), TREES.scores(rows), rtol=0, atol=1e-9)


def test_a_value_on_a_threshold_goes_left_as_in_lightgbm() -> None:
    inner = np.flatnonzero(TREES.left != np.arange(len(TREES.left)))[:50]
    rows = np.zeros((len(inner), COLUMNS))
    rows[np.arange(len(inner)), TREES.feature[inner]] = TREES.threshold[inner]
    np.testing.assert_allclose(TREES.scores(rows), BOOSTER.predict(rows, num_threads=1), rtol=0, atol=1e-9)


def test_an_unused_feature_contributes_nothing() -> None:
    rows = np.random.default_rng(1).normal(size=(10, COLUMNS))
    used = set(TREES.feature[TREES.left != np.arange(len(TREES.left))].tolist())
    contributions = TREES.contributions(rows)
    assert all((contributions[:, column] == 0).all() for column in range(COLUMNS) if column not in used)


def test_trees_survive_saving(tmp_path: Path) -> None:
    TREES.save(tmp_path / "trees.npz")
    loaded = Trees.load(tmp_path / "trees.npz")
    rows = np.random.default_rng(1).normal(size=(50, COLUMNS))
    assert loaded.names == TREES.names and (loaded.scores(rows) == TREES.scores(rows)).all()
    assert len(TREES.scores(rows[:0])) == 0
