"""Clients that keep a connection open without making proper use of it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from citewell.serve import connections
from citewell.serve.security import BearerToken

TOKEN = "a-token-of-many-letters"
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def _answer(scope: object, receive: object, send: object) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
    for _ in range(200):
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server with short timeouts and a large response."""
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.4)
    monkeypatch.setattr(connections, "_READ_SECONDS", 0.4)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    config = uvicorn.Config(BearerToken(_answer, TOKEN), http=connections.Connection, lifespan="off", log_level="critical")  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(20)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes the connection without a request."""
    try:
        while connection.recv(1 << 20):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_a_silent_connection_is_closed(port: int) -> None:
    with connected(port) as silent:
        assert is_closed(silent)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n"),
        (b"", b"\r\n"),
        (b"POST /api/add HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", b"a"),  # rejected because it has no token
    ],
)
def test_a_connection_that_sends_single_bytes_is_closed(port: int, first: bytes, then: bytes) -> None:
    began = time.monotonic()
    with connected(port) as slow, pytest.raises(ConnectionError):
        slow.sendall(first)
        while time.monotonic() - began < 10:
            slow.sendall(then)
            time.sleep(0.05)


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"GET /", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1000])
def test_an_endless_head_is_rejected(port: int, head: bytes) -> None:
    with connected(port) as endless:
        endless.sendall(head)
        try:
            for _ in range(100):
                endless.sendall(b"a" * 10_000 if not head.endswith(b"\n") else b"A: b\r\n" * 1000)
        except ConnectionError:
            return
        assert b" 400 " in endless.recv(1000)


def test_a_client_that_does_not_read_is_disconnected(port: int) -> None:
    with connected(port) as deaf:
        deaf.sendall(f"GET /api/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        time.sleep(2)
        read = b""
        with pytest.raises(ConnectionError):
            while piece := deaf.recv(1 << 20):
                read += piece
            assert not read.endswith(b"0\r\n\r\n")
            raise ConnectionError
        assert len(read) < 20_000_000


def test_a_slow_reader_gets_everything_and_may_send_another_request(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The rest of a response may be read after it is complete, and a busy machine reads with pauses.
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 10.0)
    monkeypatch.setattr(connections, "_READ_SECONDS", 5.0)
    with connected(port) as steady:
        for _ in range(2):
            steady.sendall(f"GET /api/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            read = b""
            while not read.endswith(b"0\r\n\r\n"):
                piece = steady.recv(1 << 18)
                assert piece
                read += piece
                time.sleep(0.002)
            assert read.count(b"x" * 100_000) == 200


def test_connections_beyond_the_maximum_are_closed(port: int) -> None:
    sockets = [connected(port) for _ in range(8)]
    try:
        began = time.monotonic()
        assert is_closed(sockets[-1])
        assert time.monotonic() - began < 0.3
    finally:
        for each in sockets:
            each.close()


def test_one_client_cannot_take_all_connections(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_PER_CLIENT", 2)
    with connected(port) as first, connected(port) as second, connected(port) as third:
        time.sleep(0.1)
        for each in (first, second, third):  # on this machine all programs have one address, so they are not limited
            each.sendall(REQUEST)
            assert each.recv(10).startswith(b"HTTP/1.1")
    monkeypatch.setattr(connections, "is_loopback", lambda host: False)
    with connected(port) as first, connected(port) as second, connected(port) as third:
        assert is_closed(third)
        for each in (first, second):
            each.sendall(REQUEST)
            assert each.recv(10).startswith(b"HTTP/1.1")
    time.sleep(0.2)
    with connected(port) as again:  # closed connections no longer count
        again.sendall(REQUEST)
        assert again.recv(10).startswith(b"HTTP/1.1")
