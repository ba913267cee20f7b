"""What the routes of one server share: its lanes of processes and its jobs."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from citewell.pipeline.pipeline import DEFAULT, pipeline
from citewell.serve.jobs import Jobs
from citewell.serve.messages import Asked
from citewell.serve.settings import Settings
from citewell.serve.workers import Lane


class Desk:
    """One server's."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.jobs = Jobs(settings.library)
        self._lanes = {
            "quick": Lane(settings.library, settings.quick_workers, Asked("warm-up", {"pipeline": "fast"})),
            "models": Lane(settings.library, 1, Asked("warm-up", {"pipeline": DEFAULT}), nice=True),
            "checks": Lane(settings.library, 1, nice=True),
        }

    def start(self) -> None:
        self.jobs.start()
        for lane in self._lanes.values():
            lane.start()

    async def stop(self) -> None:
        await self.jobs.stop()
        for lane in self._lanes.values():
            await lane.stop()

    async def ask(self, request: Request, what: str, given: dict[str, Any], body: bytes = b"", lane: str = "quick") -> Response:
        """What one of the processes of a lane answers."""
        seconds = self.settings.seconds
        reply, content = await self._lanes[lane].ask(Asked(what, given, seconds), body, request.is_disconnected)
        headers = {"Content-Disposition": f'attachment; filename="{reply.file}"'} if reply.file else None
        return Response(content, reply.status, headers, reply.media)


@lru_cache(maxsize=512)
def lane_of(name: str) -> str:
    """The lane for answers by the pipeline called `name`."""
    return "models" if pipeline(name).reads_with_models() else "quick"


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


OneDesk = Annotated[Desk, Depends(_desk)]
