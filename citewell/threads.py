"""How many threads citewell computes with: the one place that decides.

Only models are worth more than one core, and results never depend on the number. Encoders read many batches that do not depend
on each other: each batch runs on one thread, and `ordered_map` runs several at a time. A cross-encoder has one or two
batches in a query, so onnxruntime divides each operation between threads, which wait without spinning; its scores stay the
same to the last bit, which an encoder's vectors would not. BLAS and tokenizers keep to one thread: their products and texts are
small, and BLAS's threads spin. numba's kernels are serial, and usearch searches with one thread.

``CITEWELL_THREADS`` sets the number. A server divides its cores between its processes with it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from citewell.errors import CitewellError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

VARIABLE = "CITEWELL_THREADS"
_DEFAULT_MOST = 8
"""More cores than this are not used by default: a query rarely has more batches."""
_LIBRARIES = {
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""What the libraries read when they load. OMP_NUM_THREADS is not among them: torch, which trains, reads it too."""
_QUOTA = Path("/sys/fs/cgroup/cpu.max")

Item = TypeVar("Item")
Result = TypeVar("Result")


def count() -> int:
    """How many batches of a model this process computes at a time."""
    value = os.environ.get(VARIABLE, "").strip()
    if not value:
        return min(cores(), _DEFAULT_MOST)
    if not value.isdecimal() or int(value) < 1:
        raise CitewellError(f"{VARIABLE} is {value!r}; set it to a whole number from 1 up, or unset it")
    return int(value)


def cores() -> int:
    """The cores that this process may use: by its affinity, and by the quota of its container."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text("ascii").split()
        return max(1, min(affinity, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no container, or one without a quota
        return affinity


def limit_libraries() -> None:
    """Limit the libraries that this process loads from now on to one thread, unless the user set another number."""
    for name, value in _LIBRARIES.items():
        os.environ.setdefault(name, value)


def environment(threads: int | None = None) -> dict[str, str]:
    """The variables for a process of ours, one that computes with `threads` where given."""
    chosen = {name: os.environ.get(name, value) for name, value in _LIBRARIES.items()}
    return chosen if threads is None else {**chosen, VARIABLE: str(threads)}


def share(processes: int) -> int:
    """The threads of each of `processes` that compute at the same time."""
    return max(1, count() // processes)


def session_options(threads: int = 1) -> Any:
    """onnxruntime's options for a session that divides each operation between `threads`, the caller's among them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return options


def ordered_map(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`function` of each item, in the order of the items, `count` of them computed at a time.

    `function` should release the GIL for most of its time, as onnxruntime and tokenizers do. Few results wait at a time.
    """
    threads = 1 if getattr(_inside, "pool", False) else count()
    source = iter(items)
    waiting: deque[Future[Result]] = deque()
    first = list(islice(source, 2))
    if threads == 1 or len(first) < 2:
        yield from map(function, first)
        yield from map(function, source)
        return
    pool = _pool(threads)
    try:
        waiting.extend(pool.submit(function, item) for item in first)
        waiting.extend(pool.submit(function, item) for item in islice(source, 2 * threads - len(first)))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(function, item) for item in islice(source, 1))
    finally:
        for future in waiting:
            future.cancel()


_inside = threading.local()
_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()


def _pool(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # here, so that commands without models start without it

    with _making:
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads, "citewell-model", initializer=_enter_pool)
        return _pools[threads]


def _enter_pool() -> None:
    _inside.pool = True  # a thread of the pool that waited for the pool would wait for itself


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # a fork has none of its parent's threads


class _Blas:
    """Limits the BLAS libraries that are already loaded to one thread while anyone needs that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._controller: Any = None
        self._limit: Any = None

    def hold(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                if self._controller is None:
                    from threadpoolctl import ThreadpoolController

                    self._controller = ThreadpoolController().select(user_api="blas")
                self._limit = self._controller.limit(limits=1)

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


_blas = _Blas()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, for programs that loaded numpy before citewell.

    The products of a query are small: more threads make them slower, and each spins for milliseconds afterwards.
    """
    if os.environ.get("OPENBLAS_NUM_THREADS") == "1":  # ours from the start
        yield
        return
    _blas.hold()
    try:
        yield
    finally:
        _blas.release()
