"""How a request is refused before any route has seen it: a status, and a line that says the fix."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.types import Send


async def refuse(send: Send, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
    body = msgspec.json.encode({"detail": detail})
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
    pairs = [(name.lower().encode(), value.encode()) for name, value in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
