"""Logistic regression over hashed terms, fitted by L-BFGS: the linear part of the models of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.types import Float64Array


def term_matrix(buckets: Sequence[npt.NDArray[np.int32]], size: int) -> Any:
    """One row per sentence (scipy CSR): 1 over the square root of its number of terms, at the position of each."""
    from scipy.sparse import csr_matrix

    counts = np.array([len(each) for each in buckets])
    values = np.repeat(1 / np.sqrt(np.maximum(1, counts)), counts).astype(np.float32)
    return csr_matrix((values, np.concatenate(buckets), np.concatenate([[0], np.cumsum(counts)])), shape=(len(buckets), size))


def fit(rows: Any, labels: Float64Array, decay: float, steps: int) -> tuple[Float64Array, float]:
    """Weights and bias, with L2 regularisation `decay`, after at most this number of steps."""
    from scipy.optimize import minimize

    transposed = rows.T.tocsr()

    def loss(values: Float64Array) -> tuple[float, Float64Array]:
        weights, bias = values[:-1], values[-1]
        sums = rows @ weights.astype(np.float32) + bias
        errors = (1 / (1 + np.exp(-sums)) - labels) / max(1, len(labels))
        cost = float(np.mean(np.logaddexp(0, sums) - labels * sums) + decay / 2 * weights @ weights)
        return cost, np.append(transposed @ errors.astype(np.float32) + decay * weights, errors.sum())

    start = np.zeros(rows.shape[1] + 1)
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6}).x
    return solution[:-1], float(solution[-1])
