"""Statistical significance: paired tests over queries, corrected for multiple comparisons.

Three tests of the null hypothesis "no difference": a paired randomisation test (random sign flips of the differences),
Student's paired t-test, and, for measures that are 0 or 1, the z-test of two proportions. Holm's procedure corrects each
family of tests. Intervals are bootstrap percentiles over queries. One seed determines all random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from citewell.evaluate.measures import Values, is_hit_rate
from citewell.types import Float64Array

PERMUTATIONS = 10_000
RESAMPLES = 2_000
_AT_ONCE = 4_000_000
"""The number of random numbers in memory at a time."""


@dataclass(slots=True)
class Comparison:
    """A system compared with the baseline in one measure; p-values are corrected, and `p_z` is None if it does not apply."""

    system: str
    measure: str
    difference: float
    low: float
    high: float
    """The 95% interval of the difference."""
    p_randomisation: float
    p_t: float
    p_z: float | None

    @property
    def significant(self) -> bool:
        """At the 5% level, by the randomisation test."""
        return self.p_randomisation < 0.05


def compare(
    baseline: Mapping[str, Values], others: Mapping[str, Mapping[str, Values]], measures: Sequence[str], seed: int = 0
) -> list[Comparison]:
    """Compare every other system with the baseline in every measure; queries without a value are left out."""
    pairs = [
        (system, measure) for system in others for measure in measures if measure in baseline and measure in others[system]
    ]
    if not pairs:
        return []
    columns = [_present(others[system][measure] - baseline[measure]) for system, measure in pairs]
    by_chance = _by_length(columns, lambda matrix: randomisation(matrix, seed))
    spread = _by_length(columns, lambda matrix: bootstrap(matrix, seed))
    t = [paired_t(column) for column in columns]
    rates = [at for at, (_, measure) in enumerate(pairs) if is_hit_rate(measure)]
    z = [proportions(_present(others[pairs[at][0]][pairs[at][1]]), _present(baseline[pairs[at][1]])) for at in rates]
    chance, student = holm([float(p) for p in by_chance]), holm(t)
    normal: dict[int, float] = dict(zip(rates, holm(z), strict=True))
    return [
        Comparison(
            system,
            measure,
            float(columns[at].mean()),
            float(spread[at][0]),
            float(spread[at][1]),
            chance[at],
            student[at],
            normal.get(at),
        )
        for at, (system, measure) in enumerate(pairs)
    ]


def intervals(values: Mapping[str, Values], measures: Sequence[str], seed: int = 0) -> dict[str, tuple[float, float]]:
    """The 95% interval of the mean of each measure."""
    spread = _by_length([_present(values[measure]) for measure in measures], lambda matrix: bootstrap(matrix, seed))
    return {measure: (float(low), float(high)) for measure, (low, high) in zip(measures, spread, strict=True)}


def randomisation(differences: Float64Array, seed: int, permutations: int = PERMUTATIONS) -> Values:
    """The p-value of each column: the share of random sign flips with a mean at least as far from 0 as the observed one."""
    random = np.random.default_rng(seed)
    size = len(differences)
    data = differences.astype(np.float32)
    # Sums of the same numbers in another order differ in their last bits; these must not count as further from 0.
    observed = np.abs(differences.sum(axis=0)) * (1 - 1e-5) - 1e-7
    beyond = np.zeros(differences.shape[1])
    done = 0
    while done < permutations:
        rows = min(permutations - done, max(1, _AT_ONCE // max(1, size)))
        bits = np.unpackbits(random.integers(0, 256, (rows, (size + 7) // 8), np.uint8), axis=1, count=size)
        sums = (bits.astype(np.float32) * 2 - 1) @ data
        beyond += (np.abs(sums) >= observed).sum(axis=0)
        done += rows
    return (beyond + 1) / (permutations + 1)


def bootstrap(values: Float64Array, seed: int, resamples: int = RESAMPLES) -> Float64Array:
    """The 2.5th and the 97.5th percentile of the mean of each column."""
    random = np.random.default_rng(seed)
    size = len(values)
    means = np.empty((resamples, values.shape[1]))
    at_once = max(1, _AT_ONCE // max(1, size))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        drawn = random.integers(0, size, (rows, size)) + np.arange(rows)[:, None] * size
        counts = np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)
        means[start : start + rows] = counts.astype(np.float32) @ values.astype(np.float32) / size
    return np.percentile(means, [2.5, 97.5], axis=0).T


def paired_t(differences: Values) -> float:
    """The two-sided p-value of Student's paired t-test."""
    if len(differences) < 2 or not differences.any():
        return 1.0
    if not differences.std():
        return 0.0
    from scipy import stats

    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def proportions(one: Values, other: Values) -> float:
    """The two-sided p-value of the z-test of two proportions with pooled variance."""
    pooled = (one.sum() + other.sum()) / (len(one) + len(other))
    spread = np.sqrt(pooled * (1 - pooled) * (1 / len(one) + 1 / len(other)))
    if not spread:
        return 1.0
    from scipy import stats

    return float(2 * stats.norm.sf(abs(one.mean() - other.mean()) / spread))


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected by Holm's procedure."""
    order = np.argsort(values, kind="stable")
    corrected = [1.0] * len(values)
    worst = 0.0
    for step, at in enumerate(order):
        worst = max(worst, min(1.0, values[at] * (len(values) - step)))
        corrected[at] = worst
    return corrected


def _present(values: Values) -> Values:
    return values[~np.isnan(values)]


def _by_length(columns: Sequence[Values], function: Callable[[Float64Array], Float64Array]) -> list[Values]:
    """Apply a function of a matrix to columns; those of the same length are in one matrix."""
    by_place: dict[int, Values] = {}
    for length in {len(column) for column in columns}:
        places = [at for at, column in enumerate(columns) if len(column) == length]
        if length:
            results = function(np.stack([columns[at] for at in places], axis=1))
            by_place.update(zip(places, results, strict=True))
        else:
            by_place.update((at, np.full(2, np.nan)) for at in places)
    return [by_place[at] for at in range(len(columns))]
