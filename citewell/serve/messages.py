"""What the server asks of its processes, and what they reply."""

from __future__ import annotations

from typing import Any

import msgspec


class Asked(msgspec.Struct):
    """One thing to do."""

    what: str
    given: dict[str, Any] = {}
    seconds: float = 0.0
    """How long it may take; 0: as long as it does."""


class Reply(msgspec.Struct):
    """What came of it; the body travels beside it."""

    status: int = 200
    media: str = "application/json"
    file: str = ""
    """The name under which a browser may save it."""


class RefusedError(Exception):
    """Why a request gets no answer, as a status and a line that says the fix."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
