"""The network over signals: what it makes of them, of those that are missing, and what each adds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.models.ltr_network import Network, scaling

NAMES = ("words", "meaning", "age")
ROWS = np.array([[1.0, 2.0, np.nan], [3.0, 2.0, 10.0], [5.0, 2.0, 30.0]], np.float32)


def network() -> Network:
    means, scales, told = scaling(ROWS)
    random = np.random.default_rng(1)
    sizes = [(3 + len(told), 4), (4, 2), (2, 1)]
    layers = tuple((random.normal(size=size), random.normal(size=size[1])) for size in sizes)
    return Network(NAMES, means, scales, told, layers, 0.5)


def test_signals_are_brought_to_one_scale() -> None:
    means, scales, told = scaling(ROWS)
    assert means.tolist() == pytest.approx([3.0, 2.0, 20.0]) and scales.tolist() == pytest.approx([(8 / 3) ** 0.5, 1.0, 10.0])
    assert told.tolist() == [2], "only age is missing now and then"
    seen = network().inputs(np.array([[3.0, 2.0, np.nan], [1e9, 2.0, 30.0]]))
    assert seen[0].tolist() == [0.0, 0.0, 0.0, 1.0] and seen[1].tolist() == [4.0, 0.0, 1.0, 0.0]


def test_scores_are_those_of_the_layers() -> None:
    made = network()
    found = made.inputs(ROWS.astype(np.float64))
    for weights, biases in made.layers[:-1]:
        found = np.maximum(0, found @ weights + biases)
    np.testing.assert_allclose(made.scores(ROWS.astype(np.float64)), (found @ made.layers[-1][0] + made.layers[-1][1])[:, 0])
    assert len(made.scores(np.zeros((0, 3)))) == 0


def test_a_signal_adds_what_would_be_lost_without_it() -> None:
    made = network()
    row = np.array([[5.0, 2.0, 30.0]])
    shares = made.shares(row)[0]
    usual = np.array([[3.0, 2.0, 30.0]])
    assert shares[0] == pytest.approx((made.scores(row) - made.scores(usual))[0]) and shares[0] != 0
    assert shares[1] == 0, "what is as usual adds nothing"


def test_a_network_is_the_same_after_a_file(tmp_path: Path) -> None:
    network().save(tmp_path / "network.npz")
    again = Network.load(tmp_path / "network.npz")
    rows = ROWS.astype(np.float64)
    assert again.names == NAMES and again.share == 0.5
    np.testing.assert_allclose(again.scores(rows), network().scores(rows), rtol=1e-5)
