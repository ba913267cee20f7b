"""The processes that answer, and the queues before them.

Answering is Python for the most part, so threads would take turns on one core; and a thread cannot be stopped. A process can: a
request that takes too long, or a draft that some reader chokes on, costs the process that had it, and another takes its place.
There are three lanes: a few processes for what answers while somebody types, one for what reads with models, and one for whole
manuscripts that are checked. None keeps the others waiting, and models are loaded where they are needed alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from citewell.serve import frames
from citewell.serve.messages import Asked, RefusedError, Reply
from citewell.serve.processes import started

_MOST_WAITING = 256
"""More requests than this are not kept waiting; they are told to come again."""

Gone = Callable[[], Awaitable[bool]]


class Worker:
    """One process, started when it is first asked, and again where it has ended."""

    def __init__(self, library: Path, nice: bool) -> None:
        self._library = library
        self._nice = nice
        self._process: asyncio.subprocess.Process | None = None
        self._scratch: TemporaryDirectory[str] | None = None
        """Where it puts temporary files; a process that is killed deletes none."""

    async def ask(self, head: bytes, body: bytes) -> tuple[Reply, bytes]:
        process = await self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(frames.packed(head, body))
            await process.stdin.drain()
            found, content = await frames.receive(process.stdout)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.stop()
            raise RefusedError(503, "the process that had this request has ended; try again") from None
        except BaseException:
            await self.stop()  # it may still be at it, and its answer must not be taken for that of the next request
            raise
        return msgspec.json.decode(found, type=Reply), content

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            await self.stop()
            self._scratch = TemporaryDirectory(prefix="citewell-", ignore_cleanup_errors=True)
            self._process = await started("worker", str(self._library), self._scratch.name, *(["nice"] if self._nice else []))
        return self._process

    async def stop(self) -> None:
        """End the process, whatever it is doing; it holds nothing that could be lost."""
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


class Lane:
    """Some processes, and the requests that wait for one of them."""

    def __init__(self, library: Path, size: int, warm_up: Asked | None = None, nice: bool = False) -> None:
        self._all = [Worker(library, nice) for _ in range(size)]
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._warm_up = msgspec.json.encode(warm_up) if warm_up is not None else b""
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0

    def start(self) -> None:
        """Start all processes, where there is something to ask them first, so that what they need is loaded in time."""
        for worker in self._all:
            self._make_ready(worker)

    def _make_ready(self, worker: Worker) -> None:
        task = asyncio.create_task(self._ready(worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ready(self, worker: Worker) -> None:
        if self._warm_up:
            with suppress(RefusedError, OSError):  # the next request meets the same trouble, and tells it
                await worker.ask(self._warm_up, b"")
        self._idle.put_nowait(worker)

    async def ask(self, asked: Asked, body: bytes, gone: Gone) -> tuple[Reply, bytes]:
        """The answer of the first process that is free; the time spent waiting for it counts."""
        if self._waiting >= _MOST_WAITING:
            raise RefusedError(503, "too many requests are waiting; try again in a second")
        head = msgspec.json.encode(asked)  # before a process is taken: where this fails, none must be missing afterwards
        self._waiting += 1
        try:
            async with asyncio.timeout(asked.seconds):
                worker = await self._idle.get()
                return await self._asked(worker, head, body, gone)
        except TimeoutError:
            raise RefusedError(503, f"this took longer than {asked.seconds:g} seconds and was given up; ask for less") from None
        finally:
            self._waiting -= 1

    async def _asked(self, worker: Worker, head: bytes, body: bytes, gone: Gone) -> tuple[Reply, bytes]:
        usable = True
        try:
            if await gone():  # somebody typed on
                raise RefusedError(499, "the client has left")
            usable = False
            answer = await worker.ask(head, body)
            usable = True
            return answer
        finally:
            if usable:
                self._idle.put_nowait(worker)
            else:
                self._make_ready(worker)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in self._all:
            await worker.stop()
