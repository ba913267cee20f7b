"""The learning-to-rank network: scaling, missing features, and contributions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.models.ltr_network import Network, scaling

NAMES = ("bm25", "cosine", "age")
ROWS = np.array([[1.0, 2.0, np.nan], [3.0, 2.0, 10.0], [5.0, 2.0, 30.0]], np.float32)


def network() -> Network:
    means, scales, flagged = scaling(ROWS)
    random = np.random.default_rng(1)
    sizes = [(3 + len(flagged), 4), (4, 2), (2, 1)]
    layers = tuple((random.normal(size=size), random.normal(size=size[1])) for size in sizes)
    return Network(NAMES, means, scales, flagged, layers, 0.5)


def test_features_are_standardised() -> None:
    means, scales, flagged = scaling(ROWS)
    assert means.tolist() == pytest.approx([3.0, 2.0, 20.0]) and scales.tolist() == pytest.approx([(8 / 3) ** 0.5, 1.0, 10.0])
    assert flagged.tolist() == [2], "only age is sometimes missing"
    inputs = network().inputs(np.array([[3.0, 2.0, np.nan], [1e9, 2.0, 30.0]]))
    assert inputs[0].tolist() == [0.0, 0.0, 0.0, 1.0] and inputs[1].tolist() == [4.0, 0.0, 1.0, 0.0]


def test_scores_equal_the_dense_layers() -> None:
    model = network()
    hidden = model.inputs(ROWS.astype(np.float64))
    for weights, biases in model.layers[:-1]:
        hidden = np.maximum(0, hidden @ weights + biases)
    np.testing.assert_allclose(
        model.scores(ROWS.astype(np.float64)), (hidden @ model.layers[-1][0] + model.layers[-1][1])[:, 0]
    )
    assert len(model.scores(np.zeros((0, 3)))) == 0


def test_a_contribution_is_the_drop_without_the_feature() -> None:
    model = network()
    row = np.array([[5.0, 2.0, 30.0]])
    contributions = model.contributions(row)[0]
    mean_row = np.array([[3.0, 2.0, 30.0]])
    assert contributions[0] == pytest.approx((model.scores(row) - model.scores(mean_row))[0]) and contributions[0] != 0
    assert contributions[1] == 0, "a feature at its mean contributes nothing"


def test_a_network_survives_saving(tmp_path: Path) -> None:
    network().save(tmp_path / "network.npz")
    again = Network.load(tmp_path / "network.npz")
    rows = ROWS.astype(np.float64)
    assert again.names == NAMES and again.share == 0.5
    np.testing.assert_allclose(again.scores(rows), network().scores(rows), rtol=1e-5)
