"""Reads weight files of torch (``pytorch_model.bin``) without torch.

Such a file is a zip archive (since torch 1.6) or a sequence of pickles followed by the data (before). Only what
describes tensors is unpickled; anything else is refused, so that a hostile file cannot run code.
"""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from citewell.errors import CitewellError
from citewell.types import Array, Float32Array

_DTYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_BFLOAT16 = "BFloat16Storage"
_HEADERS = 3
"""Pickles before the tensors in the old format: magic number, protocol version, system."""

Storage = Callable[[str, str, int], Array]
"""The data of a storage, given its key, its type and its number of elements."""


def read_torch_file(path: Path) -> dict[str, Float32Array]:
    """The tensors of a file by name, as single-precision arrays."""
    try:
        tensors = _read_zip(path) if zipfile.is_zipfile(path) else _read_pickles(path)
        return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}
    except (OSError, pickle.UnpicklingError, KeyError, ValueError, TypeError, EOFError, AttributeError, IndexError) as error:
        raise CitewellError(f"{path} is not a file of PyTorch weights: {error}") from None


def _read_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        (index,) = (name for name in archive.namelist() if name.endswith("/data.pkl"))
        folder = index.removesuffix("data.pkl")

        def storage(key: str, kind: str, size: int) -> Array:
            return _decode(archive.read(f"{folder}data/{key}"), kind)

        with archive.open(index) as stream:
            return _unpickle(stream, storage)


def _read_pickles(path: Path) -> Any:
    with path.open("rb") as stream:
        for _ in range(_HEADERS):
            _unpickle(stream, _empty)
        start, kinds = stream.tell(), {}

        def noted(key: str, kind: str, size: int) -> Array:
            kinds[key] = kind
            return np.zeros(size, _DTYPES[kind])

        # The data follows the tensors: read these twice, first to learn the types.
        _unpickle(stream, noted)
        data: dict[str, Array] = {}
        for key in _unpickle(stream, _empty):
            size = int.from_bytes(stream.read(8), "little")
            data[key] = _decode(stream.read(size * np.dtype(_DTYPES[kinds[key]]).itemsize), kinds[key])
        stream.seek(start)
        return _unpickle(stream, lambda key, kind, size: data[key])


def _empty(key: str, kind: str, size: int) -> Array:
    return np.zeros(size, _DTYPES[kind])


def _decode(raw: bytes, kind: str) -> Array:
    values: Array = np.frombuffer(raw, _DTYPES[kind])
    # A bfloat16 is the upper half of a single-precision number.
    return (values.astype(np.uint32) << 16).view(np.float32) if kind == _BFLOAT16 else values


def _unpickle(stream: Any, storage: Storage) -> Any:
    return _Unpickler(stream, storage).load()


class _Unpickler(pickle.Unpickler):
    """Builds numpy arrays in place of torch's tensors."""

    def __init__(self, stream: BinaryIO, storage: Storage) -> None:
        super().__init__(stream)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if module == "torch._utils" and name == "_rebuild_parameter":
            return _rebuild_parameter
        if module == "torch" and name in _DTYPES:
            return name
        raise pickle.UnpicklingError(f"it contains {module}.{name}, which is not part of a tensor")

    def persistent_load(self, pid: Any) -> Array:
        _, kind, key, _, size, *_ = pid
        return self._storage(key, kind, size)


def _rebuild_tensor(storage: Array, offset: int, size: Sequence[int], stride: Sequence[int], *_: Any) -> Array:
    last = offset + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    if min(offset, *size, *stride, 0) < 0 or (0 not in size and last >= len(storage)):
        raise pickle.UnpicklingError("a tensor is larger than its data")
    steps = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False)


def _rebuild_parameter(data: Array, *_: Any) -> Array:
    return data
