"""One writer at a time. The operating system releases the lock when the process ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from citewell.errors import CitewellError

_LOCK = "writer.lock"
_HOLDER = "writer.json"


class BusyError(CitewellError):
    """Another process is writing to the library."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Lock the library of `folder` for writing; an error says which process has the lock."""
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BusyError(f"the library is being written by {_holder(folder)}; wait for it to finish, then try again") from None
    except OSError as error:
        raise CitewellError(
            f"cannot write to the library in {folder}: {error.strerror or error}; choose another with --library"
        ) from None
    try:
        me = {
            "pid": os.getpid(),
            "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            "since": time.strftime("%H:%M:%S"),
        }
        (folder / _HOLDER).write_bytes(msgspec.json.encode(me))
        yield
    finally:
        (folder / _HOLDER).unlink(missing_ok=True)
        lock.release()


def _holder(folder: Path) -> str:
    try:
        holder = msgspec.json.decode((folder / _HOLDER).read_bytes())
        return f"process {holder['pid']} ({holder['command'][:80]}, since {holder['since']})"
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return "another process"
