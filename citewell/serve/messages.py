"""The messages between the server and its worker processes."""

from __future__ import annotations

from typing import Any

import msgspec


class WorkerRequest(msgspec.Struct):
    """A call of one handler."""

    handler: str
    parameters: dict[str, Any] = {}
    seconds: float = 0.0
    """The time limit; 0 means no limit."""


class WorkerResponse(msgspec.Struct):
    """The head of a handler's response; the body travels next to it."""

    status: int = 200
    media_type: str = "application/json"
    file_name: str = ""
    """The name under which a browser saves the body; empty if it is not a file."""
