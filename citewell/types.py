"""The array types that the packages share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

PaperNumbers: TypeAlias = npt.NDArray[np.int64]
"""Papers by their number in the library."""
IntArray: TypeAlias = npt.NDArray[np.int64]
"""Positions, counts, term hashes."""
Float32Array: TypeAlias = npt.NDArray[np.float32]
Float64Array: TypeAlias = npt.NDArray[np.float64]
Int8Array: TypeAlias = npt.NDArray[np.int8]
"""Quantised vectors."""
Mask: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]
