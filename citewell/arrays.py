"""Named arrays in one immutable, memory-mapped file: the form of everything that is derived from the store.

The file is a magic word, the length of a JSON header, the header (name, type, shape and place of each array), then the arrays,
each aligned to a cache line. It is written atomically, so a file with its final name is complete; `checksum` verifies it later.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from citewell.files import replaced

_MAGIC = b"CITEWELL"
_ALIGN = 64
_CHUNK = 1 << 20

Arrays = dict[str, npt.NDArray[Any]]


class DamagedFileError(Exception):
    """A derived file is not what was once written."""


class _Place(msgspec.Struct):
    """Where an array is in its file, as the header says it."""

    dtype: str
    shape: tuple[int, ...]
    start: int


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[int, int]:
    """Write `arrays` to `path`, durably; returns the file's size and checksum."""
    header, body = _header(arrays)
    crc = 0
    size = 0
    with replaced(path) as temporary, temporary.open("wb") as out:

        def emit(data: bytes | memoryview) -> None:
            nonlocal crc, size
            out.write(data)
            crc = zlib.crc32(data, crc)
            size += len(data)

        emit(_MAGIC + len(header).to_bytes(8, "little") + header)
        for start, array in body:
            emit(bytes(start - size))
            emit(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return size, crc


def _header(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[bytes, list[tuple[int, npt.NDArray[Any]]]]:
    """The JSON header and where each array begins; the header's own length shifts them, so it is padded to a fixed one."""
    space = _ALIGN * (2 + 2 * len(arrays))
    at = space
    entries, body = {}, []
    for name, array in arrays.items():
        entries[name] = _Place(array.dtype.str, array.shape, at)
        body.append((at, array))
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    return msgspec.json.encode(entries).ljust(space - 16), body


def map_arrays(path: Path, size: int) -> Arrays:
    """The arrays of a file that was written with `size` bytes, mapped and read-only."""
    try:
        with path.open("rb") as file:
            actual = os.fstat(file.fileno()).st_size
            if actual != size:
                raise DamagedFileError(f"{path.name} has {actual:,} bytes instead of {size:,}")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise DamagedFileError(f"{path.name} is missing") from None
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"{path.name} cannot be read: {error}") from None
    try:
        if mapped[:8] != _MAGIC:
            raise ValueError("wrong magic")
        length = int.from_bytes(mapped[8:16], "little")
        header = msgspec.json.decode(mapped[16 : 16 + length], type=dict[str, _Place])
        return {
            name: np.frombuffer(mapped, place.dtype, int(np.prod(place.shape)), place.start).reshape(place.shape)
            for name, place in header.items()
        }
    except (ValueError, TypeError, OverflowError, SyntaxError, msgspec.DecodeError):
        raise DamagedFileError(f"{path.name} is not a citewell index file") from None


def checksum(path: Path) -> int:
    """CRC-32 of the file as it is now."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc
