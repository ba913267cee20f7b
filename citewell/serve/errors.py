"""Errors that a client sees: an HTTP status and one line that says what is wrong and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.types import Send


class ApiError(Exception):
    """A request that cannot be answered."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def error_body(detail: str) -> bytes:
    """The JSON body of an error response."""
    return msgspec.json.encode({"detail": detail})


async def send_error(send: Send, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
    """Send an error response from middleware, before any route has run."""
    body = error_body(detail)
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
    pairs = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
