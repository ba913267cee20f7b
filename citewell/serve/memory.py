"""The memory that a worker process may use, so that one request cannot take that of the whole machine.

The limit is on data (heap and anonymous mappings), not on address space: an index is memory-mapped and may be far larger. Where
the operating system has no such limit, nothing is limited.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_CGROUP = Path("/sys/fs/cgroup/memory.max")
_MIN_BYTES = 2 << 30
"""The least that the default allows: the models of the default pipeline need about one."""


def default_bytes() -> int:
    """Half of the memory of the machine or the container, but at least 2 GiB."""
    return max(_MIN_BYTES, _machine_bytes() // 2)


def limit(max_bytes: int) -> None:
    """Let this process use at most `max_bytes`; beyond that, Python raises `MemoryError`."""
    if resource is None or not max_bytes:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = max_bytes if hard == resource.RLIM_INFINITY else min(max_bytes, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))


def lift() -> None:
    """Remove the limit, for processes that this one starts."""
    if resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def current_limit() -> int:
    """The limit of this process, 0 if it has none."""
    if resource is None:
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return 0 if soft == resource.RLIM_INFINITY else soft


def exceeded(max_bytes: int) -> str:
    """The message for a request that needs more."""
    if not max_bytes:
        return "The server ran out of memory; send a smaller request."
    return (
        f"The request needs more memory than the {max_bytes / 1e6:,.0f} MB that a process of the server may use; send a smaller"
        " one, or start the server with a larger --memory."
    )


def _machine_bytes() -> int:
    sizes = []
    with suppress(ValueError, OSError, AttributeError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # "max" if the container has no limit
        sizes.append(int(_CGROUP.read_text()))
    return min((size for size in sizes if size > 0), default=0)
