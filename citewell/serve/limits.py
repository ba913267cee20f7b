"""Limits on what a client may send: how much, how often, how slowly.

How long an answer may take is the business of `workers`, which can end the process that is at it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.serve.refusing import refuse

_BURST = 4.0
"""After a pause a client may make as many requests at once as else in so many seconds."""
_CLIENTS = 10_000
"""So many clients are remembered; one that is forgotten begins anew."""
_SLOWEST_BODY = 30.0
_SLOWEST_UPLOAD = 600.0
"""Seconds in which a body must have come."""


class Rate:
    """A token bucket for each client: each request takes a token, and so many a second come back."""

    def __init__(self, app: ASGIApp, a_second: float) -> None:
        self._app = app
        self._a_second = a_second
        self._most = max(1.0, a_second * _BURST)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            wait = self._take(scope["client"][0] if scope.get("client") else "")
            if wait > 0:
                seconds = str(int(wait) + 1)
                headers = {"Retry-After": seconds}
                await refuse(
                    send, 429, f"too many requests; wait {seconds} s and send fewer than {self._a_second:g} a second", headers
                )
                return
        await self._app(scope, receive, send)

    def _take(self, client: str) -> float:
        """Take a token; returns 0, or in how many seconds there will be one."""
        now = time.monotonic()
        left, then = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._a_second)
        wait = 0.0 if left >= 1 else (1 - left) / self._a_second
        self._buckets[client] = (left if wait else left - 1, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        return wait


class BodySize:
    """No body beyond so many bytes, counted as they come, and none that comes too slowly."""

    def __init__(self, app: ASGIApp, most: int, uploads: dict[str, int]) -> None:
        self._app = app
        self._most = most
        self._uploads = uploads
        """Paths where files are sent, and how large a body there may be."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        upload = scope["path"] in self._uploads
        most = self._uploads[scope["path"]] if upload else self._most
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            await refuse(send, 413, _too_large(most), {"Connection": "close"})
            return
        until = time.monotonic() + (_SLOWEST_UPLOAD if upload else _SLOWEST_BODY)
        read, ended = 0, False

        async def counted() -> Message:
            nonlocal read, ended
            if ended:
                return await receive()  # whether the client is still there; that may take as long as it likes
            try:
                async with asyncio.timeout(max(0.0, until - time.monotonic())):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the request came too slowly and was given up", {"Connection": "close"}) from None
            read += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if read > most:
                raise HTTPException(413, _too_large(most), {"Connection": "close"})
            return message

        await self._app(scope, counted, send)


def _too_large(most: int) -> str:
    return f"the request is larger than {most / 1e6:g} MB; send less at a time"
