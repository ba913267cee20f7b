"""The worker processes and the queues in front of them.

Handlers are mostly Python, so threads would share one core, and a thread cannot be stopped. A process can: a request that
takes too long, or a draft that makes a reader hang, costs one process, and a new one replaces it. There are three pools: a
few processes for requests that must be fast while the user types, one for pipelines that use models, and one for checks of
whole manuscripts. No pool blocks another, and models are loaded only where they are used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from citewell.serve import framing
from citewell.serve.errors import ApiError
from citewell.serve.messages import WorkerRequest, WorkerResponse
from citewell.serve.processes import start

_STOPPING = "The server is stopping; try again when it runs."
_MAX_WAITING = 256
"""The length of a pool's queue; further requests get status 503."""

IsDisconnected = Callable[[], Awaitable[bool]]


class Worker:
    """One process, started at its first call and restarted after it has ended."""

    def __init__(self, library: Path, memory_bytes: int, nice: bool, threads: int | None) -> None:
        self._library = library
        self._memory_bytes = memory_bytes
        self._nice = nice
        self._threads = threads
        self._process: asyncio.subprocess.Process | None = None
        self._scratch: TemporaryDirectory[str] | None = None
        """The folder for its temporary files; a killed process does not delete them itself."""

    async def call(self, head: bytes, body: bytes) -> tuple[WorkerResponse, bytes]:
        process = await self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(framing.encode(head, body))
            await process.stdin.drain()
            response, content = await framing.receive(process.stdout)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.stop()
            raise ApiError(503, "The worker process ended while it handled this request; try again.") from None
        except BaseException:
            await self.stop()  # it may still be working, and the next request must not receive this response
            raise
        return msgspec.json.decode(response, type=WorkerResponse), content

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            await self.stop()
            self._scratch = TemporaryDirectory(prefix="citewell-", ignore_cleanup_errors=True)
            arguments = [str(self._library), self._scratch.name, str(self._memory_bytes), *(["nice"] if self._nice else [])]
            self._process = await start("worker", *arguments, threads=self._threads)
        return self._process

    async def stop(self) -> None:
        """Kill the process; it has no state that could be lost."""
        process, self._process = self._process, None
        scratch, self._scratch = self._scratch, None
        try:
            if process is not None:
                with suppress(ProcessLookupError):
                    process.kill()
                await asyncio.shield(process.wait())
        finally:
            if scratch is not None:
                scratch.cleanup()


class WorkerPool:
    """Some workers and the queue of requests for them."""

    def __init__(
        self,
        library: Path,
        size: int,
        warm_up: WorkerRequest | None = None,
        nice: bool = False,
        threads: int | None = None,
        memory_bytes: int = 0,
    ) -> None:
        self._workers = [Worker(library, memory_bytes, nice, threads) for _ in range(size)]
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._warm_up = msgspec.json.encode(warm_up) if warm_up is not None else b""
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._stopped = False

    def start(self) -> None:
        """Make all workers available; with a warm-up request they start now and load what they need."""
        for worker in self._workers:
            self._make_ready(worker)

    def _make_ready(self, worker: Worker) -> None:
        if self._stopped:
            return
        task = asyncio.create_task(self._ready(worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ready(self, worker: Worker) -> None:
        if self._warm_up:
            with suppress(ApiError, OSError):  # the next request meets the same error and reports it
                await worker.call(self._warm_up, b"")
        self._idle.put_nowait(worker)

    async def call(self, request: WorkerRequest, body: bytes, is_disconnected: IsDisconnected) -> tuple[WorkerResponse, bytes]:
        """The response of the first idle worker; the time limit includes the time in the queue."""
        if self._stopped:
            raise ApiError(503, _STOPPING)
        if self._waiting >= _MAX_WAITING:
            raise ApiError(503, "Too many requests are waiting; try again in a second.")
        head = msgspec.json.encode(request)  # before a worker is taken: if this fails, the worker must stay in the pool
        self._waiting += 1
        try:
            async with asyncio.timeout(request.seconds):
                worker = await self._idle.get()
                if self._stopped:
                    raise ApiError(503, _STOPPING)
                return await self._call(worker, head, body, is_disconnected)
        except ApiError as error:
            if self._stopped and error.status == 503:  # its process was ended on purpose
                raise ApiError(503, _STOPPING) from None
            raise
        except TimeoutError:
            detail = f"The request took longer than {request.seconds:g} seconds and was stopped; send a smaller one."
            raise ApiError(503, detail) from None
        finally:
            self._waiting -= 1

    async def _call(
        self, worker: Worker, head: bytes, body: bytes, is_disconnected: IsDisconnected
    ) -> tuple[WorkerResponse, bytes]:
        usable = True
        try:
            if await is_disconnected():  # the user went on typing
                raise ApiError(499, "The client closed the connection.")
            usable = False
            response = await worker.call(head, body)
            usable = True
            return response
        finally:
            if usable:
                self._idle.put_nowait(worker)
            else:
                self._make_ready(worker)

    async def stop(self) -> None:
        """End the processes; requests that they handle, and later ones, get status 503."""
        self._stopped = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.stop() for worker in self._workers))
        for _ in range(self._waiting):  # a request that waits for a worker wakes up and sees that there is none
            self._idle.put_nowait(self._workers[0])
