"""Weights of PyTorch, read without PyTorch."""

from __future__ import annotations

import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.errors import CitewellError
from citewell.models.torch_file import read_torch_file


class _Storage:
    """Pickles as torch pickles a storage: by its kind and key."""

    def __init__(self, kind: str, key: str) -> None:
        self.pid = ("storage", _Global("torch", kind), key, "cpu", 0)


class _Global:
    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class _Tensor:
    def __init__(self, storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.parts = storage, offset, size, stride, False, OrderedDict()


class _Pickler(pickle._Pickler):  # type: ignore[misc]
    def persistent_id(self, given: Any) -> Any:
        return given.pid if isinstance(given, _Storage) else None

    def save(self, given: Any, save_persistent_id: bool = True) -> None:
        if isinstance(given, _Global):
            self.write(pickle.GLOBAL + f"{given.module}\n{given.name}\n".encode())
        elif isinstance(given, _Tensor):
            self.save(_Global("torch._utils", "_rebuild_tensor_v2"))
            self.save(given.parts)
            self.write(pickle.REDUCE)
        else:
            super().save(given, save_persistent_id)


def write(path: Path, tensors: dict[str, Any], storages: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("archive/data.pkl", "w") as file:
            _Pickler(file, protocol=2).dump(tensors)
        for key, data in storages.items():
            archive.writestr(f"archive/data/{key}", data)
    return path


def test_tensors_of_several_types_are_read_as_single_precision(tmp_path: Path) -> None:
    single = np.arange(12, dtype="<f4")
    brain = (single.view("<u4") >> 16).astype("<u2")
    tensors = {
        "whole": _Tensor(_Storage("FloatStorage", "0"), 0, (3, 4), (4, 1)),
        "transposed": _Tensor(_Storage("FloatStorage", "0"), 0, (4, 3), (1, 4)),
        "part": _Tensor(_Storage("FloatStorage", "0"), 4, (2,), (1,)),
        "half": _Tensor(_Storage("HalfStorage", "1"), 0, (12,), (1,)),
        "brain": _Tensor(_Storage("BFloat16Storage", "2"), 0, (12,), (1,)),
    }
    storages = {"0": single.tobytes(), "1": single.astype("<f2").tobytes(), "2": brain.tobytes()}
    read = read_torch_file(write(tmp_path / "weights.bin", tensors, storages))
    assert all(values.dtype == np.float32 for values in read.values())
    np.testing.assert_array_equal(read["whole"], single.reshape(3, 4))
    np.testing.assert_array_equal(read["transposed"], single.reshape(3, 4).T)
    np.testing.assert_array_equal(read["part"], [4, 5])
    np.testing.assert_array_equal(read["half"], single)
    np.testing.assert_array_equal(read["brain"], single)


def test_other_objects_than_tensors_are_refused(tmp_path: Path) -> None:
    hostile = write(tmp_path / "hostile.bin", {"run": _Global("os", "system")}, {})
    with pytest.raises(CitewellError, match=r"contains os\.system"):
        read_torch_file(hostile)
    beyond = {"large": _Tensor(_Storage("FloatStorage", "0"), 0, (1000,), (1,))}
    with pytest.raises(CitewellError, match="larger than its data"):
        read_torch_file(write(tmp_path / "beyond.bin", beyond, {"0": bytes(40)}))
    (tmp_path / "text.bin").write_text("no archive")
    with pytest.raises(CitewellError, match="not a file of PyTorch weights"):
        read_torch_file(tmp_path / "text.bin")
