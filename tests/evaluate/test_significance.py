"""Tests of significance against their textbook forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from citewell.evaluate import significance


def exact_randomisation(differences: np.ndarray) -> float:
    """All sign flips in turn."""
    observed = abs(differences.sum())
    sums = [abs((differences * signs).sum()) for signs in itertools.product((-1, 1), repeat=len(differences))]
    return float(np.mean([value >= observed - 1e-9 for value in sums]))


@pytest.mark.parametrize("seed", range(4))
def test_randomisation_comes_close_to_trying_all_flips(seed: int) -> None:
    differences = np.random.default_rng(seed).normal(0.3, 1, 12)
    p_value = significance.randomisation(differences[:, None], seed)[0]
    assert p_value == pytest.approx(exact_randomisation(differences), abs=0.015)


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


def test_a_comparison_detects_a_real_difference_and_leaves_out_queries_without_a_value() -> None:
    random = np.random.default_rng(1)
    base = random.random(200)
    values = {"AP": base, "Success@10": (base > 0.5).astype(float), "oracle:AP": np.where(base > 0.5, base, np.nan)}
    better = {name: np.minimum(1, column + 0.1) for name, column in values.items()}
    better["Success@10"] = (base > 0.2).astype(float)
    comparisons = {
        (each.system, each.measure): each
        for each in significance.compare(values, {"same": values, "better": better}, ["AP", "Success@10", "oracle:AP", "R@10"])
    }
    assert len(comparisons) == 6
    assert not comparisons["same", "AP"].significant and comparisons["same", "AP"].p_randomisation == 1.0
    assert comparisons["better", "AP"].significant and comparisons["better", "AP"].p_t < 0.001
    assert comparisons["better", "Success@10"].p_z is not None and comparisons["better", "Success@10"].p_z < 0.001
    assert comparisons["better", "AP"].p_z is None
    assert comparisons["better", "oracle:AP"].difference == pytest.approx(np.nanmean(better["oracle:AP"] - values["oracle:AP"]))
    assert comparisons["better", "AP"].low < comparisons["better", "AP"].difference < comparisons["better", "AP"].high
