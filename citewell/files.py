"""Atomic writes: a file with its final name is always complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident


@contextmanager
def replaced(path: Path, durable: bool = True) -> Iterator[Path]:
    """A temporary path next to `path` to write to; it takes the name `path` when the block ends without an error.

    Each process and thread has a temporary path of its own, so two that write the same file do not mix: the last one wins.
    `durable` flushes the file and its folder to disk, so that the change survives a power failure.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{get_ident():x}.part")
    try:
        yield temporary
        if durable:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_atomically(path: Path, data: bytes, durable: bool = True) -> None:
    """Replace the content of `path` in one step."""
    with replaced(path, durable) as temporary:
        temporary.write_bytes(data)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, so that a rename survives a power failure."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
