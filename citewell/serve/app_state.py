"""State that all routes of a server share: the worker pools and the jobs."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from citewell import threads
from citewell.pipeline.registry import DEFAULT, pipeline
from citewell.serve.jobs import Jobs
from citewell.serve.messages import WorkerRequest
from citewell.serve.settings import Settings
from citewell.serve.workers import WorkerPool


class AppState:
    """The worker pools and jobs of one server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        memory = settings.process_bytes
        self.jobs = Jobs(settings.library, memory)
        self._pools = {
            "fast": WorkerPool(
                settings.library,
                settings.fast_workers,
                WorkerRequest("warm-up", {"pipeline": "fast"}),
                threads=1,
                memory_bytes=memory,
            ),
            "models": WorkerPool(
                settings.library, 1, WorkerRequest("warm-up", {"pipeline": DEFAULT}), nice=True, memory_bytes=memory
            ),
            "checks": WorkerPool(settings.library, 1, nice=True, threads=threads.share(2), memory_bytes=memory),
        }

    def start(self) -> None:
        self.jobs.start()
        for pool in self._pools.values():
            pool.start()

    async def stop(self) -> None:
        """End all processes; requests that are running get status 503."""
        await asyncio.gather(self.jobs.stop(), *(pool.stop() for pool in self._pools.values()))

    async def call(
        self, request: Request, handler: str, parameters: dict[str, Any], body: bytes = b"", pool: str = "fast"
    ) -> Response:
        """Run a handler in a worker of a pool."""
        message = WorkerRequest(handler, parameters, self.settings.seconds)
        head, content = await self._pools[pool].call(message, body, request.is_disconnected)
        headers = {"Content-Disposition": f'attachment; filename="{head.file_name}"'} if head.file_name else None
        return Response(content, head.status, headers, head.media_type)


@lru_cache(maxsize=512)
def pool_for(pipeline_name: str) -> str:
    """The worker pool that runs a pipeline."""
    return "models" if pipeline(pipeline_name).uses_models() else "fast"


def _state(request: Request) -> AppState:
    state: AppState = request.app.state.citewell
    return state


State = Annotated[AppState, Depends(_state)]
"""A route parameter of this type receives the state of the server."""
