"""numpy's rule for a Python integer that does not fit the array it meets, enforced for every test.

NEP 50: a Python integer takes the dtype of the array next to it, and one that does not fit is an error. Ufuncs raise it
since numpy 2.0. `np.where`, `np.select` and `np.choose` raise it since numpy 2.5, which needs Python 3.12; before that they
wrap the integer silently, and numpy 1 widens the array. With this guard a call from citewell fails on every version alike.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def check_fit(values: Sequence[Any]) -> None:
    """Raise `OverflowError` if one of `values` is a Python integer that the dtype of the others cannot hold."""
    integers = [value for value in values if type(value) is int]
    arrays = [np.asarray(value) for value in values if type(value) not in (int, float, bool)]
    if not integers or not arrays:
        return
    dtype = np.result_type(*(array.dtype for array in arrays))
    if dtype.kind not in "iu" or any(type(value) is float for value in values):
        return
    limits = np.iinfo(dtype)
    for value in integers:
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def _guarded(function: Callable[..., Any], values: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if str(sys._getframe(1).f_globals.get("__name__")).startswith(("citewell.", "benchmarks.")):
            check_fit(values(*args, **options))
        return function(*args, **options)

    call.guarded = True  # type: ignore[attr-defined]
    return call


def enforce() -> None:
    """Replace the functions of numpy that let such an integer pass; a second call changes nothing."""
    if not hasattr(np.where, "guarded"):
        np.where = _guarded(np.where, lambda condition, *choices: choices)
        np.select = _guarded(np.select, lambda conditions, choices, default=0: [*choices, default])
        np.choose = _guarded(np.choose, lambda index, choices, *_, **__: list(choices))
