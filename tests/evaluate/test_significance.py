"""Tests of significance against their textbook forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from citewell.evaluate import significance


def exact_randomisation(differences: np.ndarray) -> float:
    """All sign flips, one after the other."""
    observed = abs(differences.sum())
    sums = [abs((differences * signs).sum()) for signs in itertools.product((-1, 1), repeat=len(differences))]
    return float(np.mean([value >= observed - 1e-9 for value in sums]))


@pytest.mark.parametrize("seed", range(4))
def test_randomisation_comes_close_to_trying_all_flips(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.3, 1, 12)
    found = significance.randomisation(differences[:, None], seed)[0]
    assert found == pytest.approx(exact_randomisation(differences), abs=0.015)


def test_the_t_test_is_scipys() -> None:
    random = np.random.default_rng(3)
    one, other = random.random(50), random.random(50)
    assert significance.paired_t(one - other) == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert significance.paired_t(np.zeros(5)) == 1.0


def test_two_proportions() -> None:
    one, other = np.repeat([1.0, 0.0], [60, 40]), np.repeat([1.0, 0.0], [45, 55])
    # z = 0.15 / sqrt(0.525 * 0.475 * 2 / 100) = 2.124
    assert significance.proportions(one, other) == pytest.approx(2 * stats.norm.sf(0.15 / np.sqrt(0.525 * 0.475 * 0.02)))
    assert significance.proportions(np.ones(5), np.ones(5)) == 1.0


def test_holm() -> None:
    assert significance.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert significance.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert significance.holm([]) == []


def test_a_bootstrap_interval_is_that_of_the_normal_approximation_for_many_queries() -> None:
    values = np.random.default_rng(0).random(2000)
    low, high = significance.bootstrap(values[:, None], 0)[0]
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_a_comparison_tells_real_from_none_and_leaves_out_queries_that_do_not_count() -> None:
    random = np.random.default_rng(1)
    base = random.random(200)
    values = {"AP": base, "Success@10": (base > 0.5).astype(float), "given:AP": np.where(base > 0.5, base, np.nan)}
    better = {name: np.minimum(1, column + 0.1) for name, column in values.items()}
    better["Success@10"] = (base > 0.2).astype(float)
    found = {
        (each.system, each.measure): each
        for each in significance.compare(values, {"same": values, "better": better}, ["AP", "Success@10", "given:AP", "R@10"])
    }
    assert len(found) == 6
    assert not found["same", "AP"].significant and found["same", "AP"].p_randomisation == 1.0
    assert found["better", "AP"].significant and found["better", "AP"].p_t < 0.001
    assert found["better", "Success@10"].p_z is not None and found["better", "Success@10"].p_z < 0.001
    assert found["better", "AP"].p_z is None
    assert found["better", "given:AP"].difference == pytest.approx(np.nanmean(better["given:AP"] - values["given:AP"]))
    assert found["better", "AP"].low < found["better", "AP"].difference < found["better", "AP"].high
