"""The scan of int8 vectors, in numpy at first, compiled once many have been scanned; both give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]

_PATIENCE = 3_000_000
"""How many vectors numpy scans in the time that loading numba takes, roughly."""
_AT_ONCE = 1 << 14

_compiled: Callable[..., Any] | None = None
_scanned = 0


def scan(codes: Codes, scales: Floats, query: Codes, scale: float) -> Floats:
    """The inner product of each vector with the query's."""
    global _scanned
    if _compiled is None:
        _scanned += len(codes)
        if _scanned > _PATIENCE:
            load_compiled()
    products = products_in_numpy(codes, query) if _compiled is None else _run(codes, query)
    return np.asarray(products.astype(np.float32) * scales * np.float32(scale), np.float32)


def load_compiled() -> None:
    """Use the compiled loop from now on."""
    global _compiled
    from citewell.retrieve import compiled

    _compiled = compiled.products


def products_in_numpy(codes: Codes, query: Codes) -> npt.NDArray[np.int32]:
    """Whole-number inner products, some thousand vectors at a time so that their wider copies stay in the cache.

    The products of two int8 vectors of up to a thousand components fit the 24 bits that single precision holds exactly.
    """
    found = np.empty(len(codes), np.int32)
    wide = query.astype(np.float32)
    for start in range(0, len(codes), _AT_ONCE):
        found[start : start + _AT_ONCE] = codes[start : start + _AT_ONCE].astype(np.float32) @ wide
    return found


def _run(codes: Codes, query: Codes) -> npt.NDArray[np.int32]:
    assert _compiled is not None
    found = np.empty(len(codes), np.int32)
    _compiled(codes, query, found)
    return found
