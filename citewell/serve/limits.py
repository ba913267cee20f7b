"""Middleware that limits how much, how often and how slowly a client may send.

`workers` limits how long a request may take, because it can end the process that handles it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.serve.errors import send_error

_BURST_SECONDS = 4.0
"""After a pause a client may make the requests of this many seconds at once."""
_MAX_CLIENTS = 10_000
"""The number of clients whose rate is tracked; the oldest are dropped."""
_BODY_SECONDS = 30.0
_UPLOAD_SECONDS = 600.0
"""The time within which a body must arrive."""


class RateLimit:
    """A token bucket per client: each request takes a token, and tokens refill at a constant rate."""

    def __init__(self, app: ASGIApp, per_second: float) -> None:
        self._app = app
        self._per_second = per_second
        self._capacity = max(1.0, per_second * _BURST_SECONDS)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            wait = self._take(scope["client"][0] if scope.get("client") else "")
            if wait > 0:
                seconds = str(int(wait) + 1)
                detail = f"Too many requests; wait {seconds} s and send fewer than {self._per_second:g} per second."
                await send_error(send, 429, detail, {"Retry-After": seconds})
                return
        await self._app(scope, receive, send)

    def _take(self, client: str) -> float:
        """Take a token; returns 0, or the seconds until there is one."""
        now = time.monotonic()
        tokens, updated = self._buckets.pop(client, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - updated) * self._per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._per_second
        self._buckets[client] = (tokens if wait else tokens - 1, now)
        if len(self._buckets) > _MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return wait


class BodyLimit:
    """Rejects request bodies that are too large, counted as they arrive, or that arrive too slowly."""

    def __init__(self, app: ASGIApp, max_bytes: int, uploads: dict[str, int]) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._uploads = uploads
        """The paths that take uploads, and the largest body there."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        upload = scope["path"] in self._uploads
        max_bytes = self._uploads[scope["path"]] if upload else self._max_bytes
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > max_bytes:
            await send_error(send, 413, _too_large(max_bytes), {"Connection": "close"})
            return
        deadline = time.monotonic() + (_UPLOAD_SECONDS if upload else _BODY_SECONDS)
        received, complete = 0, False

        async def limited_receive() -> Message:
            nonlocal received, complete
            if complete:
                return await receive()  # waits for the client to disconnect, which has no time limit
            try:
                async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The request arrived too slowly.", {"Connection": "close"}) from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > max_bytes:
                raise HTTPException(413, _too_large(max_bytes), {"Connection": "close"})
            return message

        await self._app(scope, limited_receive, send)


def _too_large(max_bytes: int) -> str:
    return f"The request is larger than {max_bytes / 1e6:g} MB; split it into smaller ones."
