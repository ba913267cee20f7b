"""Waiting for files to change."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_SECONDS = 0.5
"""How often the files are looked at. Polling also works on network drives, where notifications do not arrive."""

_State = tuple[tuple[str, int, int], ...]


def changes(paths: Sequence[Path], seconds: float = _SECONDS) -> Iterator[list[Path]]:
    """Yields the paths that have changed since this call, whenever some have; a file that is being written is waited for."""
    return _changes(paths, {path: _state(path) for path in paths}, seconds)


def _changes(paths: Sequence[Path], known: dict[Path, _State], seconds: float) -> Iterator[list[Path]]:
    while True:
        time.sleep(seconds)
        changed = []
        for path in paths:
            state = _state(path)
            if state != known[path]:
                state = _settled(path, state, seconds)
                known[path] = state
                if state:
                    changed.append(path)
        if changed:
            yield changed


def _settled(path: Path, state: _State, seconds: float) -> _State:
    """The state of a path once it has stopped changing."""
    while True:
        time.sleep(seconds)
        later = _state(path)
        if later == state:
            return later
        state = later


def _state(path: Path) -> _State:
    """Name, size and time of every file of a path; nothing for a path that does not exist at the moment."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    state = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        state.append((str(file), status.st_size, status.st_mtime_ns))
    return tuple(state)
