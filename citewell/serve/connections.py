"""HTTP connections with timeouts and size limits.

uvicorn only closes connections that are idle between two requests. A client that never sends a request, sends its request head
one byte per minute, sends an endless head, or does not read its response could stay connected for ever, without a token, and a
thousand such connections fill the server. This class closes them.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from citewell.serve.security import is_loopback

MAX_CONNECTIONS = 1000
"""Further connections are closed immediately, so that the process never runs out of file descriptors."""
MAX_PER_CLIENT = 100
"""The connections of one address, so that one client cannot take them all. Addresses of this machine are exempt: there, all
programs, and all clients of a proxy, have the same one."""
_HEAD_SECONDS = 15.0
"""From the start of a connection, or the end of a response, to the end of the next request head."""
_HEAD_BYTES = 65_536
_READ_SECONDS = 120.0
"""How long a client may read nothing of its response."""


class Connection(HttpToolsProtocol):
    """One connection of one client."""

    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None
    _in_body = False
    _head_bytes = 0
    """Bytes received since the last complete head, outside of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS or self._connections_of_client() > MAX_PER_CLIENT:
            transport.abort()
        else:
            self._start_head_timer()

    def _connections_of_client(self) -> int:
        """How many connections the client has, this one included; 0 for a client on this machine."""
        host = self.client[0] if self.client else ""
        if not host or is_loopback(host):
            return 0
        return len(
            [each for each in self.connections if isinstance(each, Connection) and each.client and each.client[0] == host]
        )

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._head_timer, self._read_timer):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > _HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The request head is too large.")

    def on_headers_complete(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._in_body, self._head_bytes = True, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # otherwise this response belongs to an earlier request, and the next is in progress
            self._start_head_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_read_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._read_timer is not None:
            self._read_timer.cancel()

    def _start_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._close)

    def _start_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
        self._read_timer = self.loop.call_later(_READ_SECONDS, self.transport.abort)

    def _close(self) -> None:
        """Close the connection; the client may still read what was sent."""
        self.transport.close()
        self._start_read_timer()
