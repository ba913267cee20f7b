"""Weights from a ``pytorch_model.bin``, without torch.

The file is a zip archive: ``data.pkl`` describes the tensors and ``data/N`` holds the bytes of each storage. Only what
describes tensors is unpickled; anything else in the file is refused, so a hostile file cannot run code.
"""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from citewell.errors import CitewellError
from citewell.types import Array, Float32Array

_DTYPES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype("<u2"),
    "DoubleStorage": np.dtype("<f8"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "BoolStorage": np.dtype("?"),
}


def read_torch_file(path: Path) -> dict[str, Float32Array]:
    """The tensors of a file by name, as single-precision arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            description = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            with archive.open(description) as file:
                tensors = _Unpickler(file, archive, description.removesuffix("data.pkl")).load()
    except (OSError, zipfile.BadZipFile, StopIteration, KeyError, ValueError, pickle.UnpicklingError) as error:
        raise CitewellError(f"{path} is not a file of PyTorch weights: {error}") from None
    return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(file)
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _DTYPES:
            return name
        raise pickle.UnpicklingError(f"it contains {module}.{name}, which is not part of a tensor")

    def persistent_load(self, pid: Any) -> Array:
        _, kind, key, *_ = pid
        values: Array = np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), _DTYPES[kind])
        # A bfloat16 is the upper half of a single-precision number.
        return (values.astype(np.uint32) << 16).view(np.float32) if kind == "BFloat16Storage" else values


def _tensor(storage: Array, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Array:
    last = offset + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    if min(offset, *size, *stride, 0) < 0 or (0 not in size and last >= len(storage)):
        raise pickle.UnpicklingError("a tensor is larger than its data")
    steps = tuple(step * storage.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False)
