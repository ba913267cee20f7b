"""What the routes of one server share: its lanes of processes and its jobs."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from citewell.pipeline import DEFAULT, pipeline
from citewell.serve.jobs import Jobs
from citewell.serve.messages import Asked
from citewell.serve.settings import Settings
from citewell.serve.workers import Lane


class Desk:
    """One server's."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.jobs = Jobs(settings.library)
        self._quick = Lane(settings.library, settings.quick_workers, Asked("warm-up", {"pipeline": "fast"}))
        self._slow = Lane(settings.library, 1, Asked("warm-up", {"pipeline": DEFAULT}), nice=True)

    def start(self) -> None:
        self.jobs.start()
        self._quick.start()
        self._slow.start()

    async def stop(self) -> None:
        await self.jobs.stop()
        await self._quick.stop()
        await self._slow.stop()

    async def ask(self, request: Request, what: str, given: dict[str, Any], body: bytes = b"", slow: bool = False) -> Response:
        """What one of the processes answers."""
        lane = self._slow if slow else self._quick
        reply, content = await lane.ask(Asked(what, given), body, self.settings.seconds, request.is_disconnected)
        headers = {"Content-Disposition": f'attachment; filename="{reply.file}"'} if reply.file else None
        return Response(content, reply.status, headers, reply.media)


@lru_cache(maxsize=512)
def reads_with_models(name: str) -> bool:
    """Whether answers by the pipeline called `name` belong into the slow lane."""
    return pipeline(name).reads_with_models()


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


OneDesk = Annotated[Desk, Depends(_desk)]
