"""A connection that neither waits for ever nor grows for ever.

uvicorn ends a connection that is silent between two requests, and nothing else: one that never sends a request, sends its head
a byte a minute, sends a head without end, or does not read its answer stays as long as its client likes. That costs a client
nothing and needs no token, and a thousand of them are all that the server takes. So those are ended here.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 1000
"""So many connections at once; more are closed at once, so that there are always files left to open."""
_HEAD_SECONDS = 15.0
"""From the beginning of a connection, or the end of an answer, to the end of the next head."""
_HEAD_BYTES = 65_536
_READ_SECONDS = 120.0
"""So long a client may take no further part of its answer."""


class Connection(HttpToolsProtocol):
    """One connection of one client."""

    _for_head: asyncio.TimerHandle | None = None
    _for_reading: asyncio.TimerHandle | None = None
    _in_body = False
    _head = 0
    """How many bytes have come that are no body and no head that is complete."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._for_head, self._for_reading):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._head += len(data)
        super().data_received(data)
        if self._head > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_headers_complete(self) -> None:
        if self._for_head is not None:
            self._for_head.cancel()
        self._in_body, self._head = True, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else it is the answer to an earlier request, and the next is under way
            self._wait_for_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._for_reading is not None:
            self._for_reading.cancel()

    def _wait_for_head(self) -> None:
        if self._for_head is not None:
            self._for_head.cancel()
        self._for_head = self.loop.call_later(_HEAD_SECONDS, self._end)

    def _wait_for_reading(self) -> None:
        if self._for_reading is not None:
            self._for_reading.cancel()
        self._for_reading = self.loop.call_later(_READ_SECONDS, self.transport.abort)

    def _end(self) -> None:
        """Close it; what has been answered may still be read."""
        self.transport.close()
        self._wait_for_reading()
