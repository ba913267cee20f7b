"""Starting a server: where it listens, what it needs for that, and how it ends."""

from __future__ import annotations

import atexit
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.parse import quote

import uvicorn

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.store import schema
from citewell.serve import connections
from citewell.serve.app import make
from citewell.serve.desk import Desk
from citewell.serve.security import is_loopback
from citewell.serve.settings import Settings

_SHORTEST_TOKEN = 16
_LAST_SECONDS = 5


def listening(host: str, port: int) -> tuple[socket.socket, bool]:
    """A socket that listens, and whether only this machine can reach it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        raise CitewellError(f"{host!r} is no address of this machine ({error.strerror}); the usual one is 127.0.0.1") from None
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(connections.MOST)
    except OSError as error:
        found.close()
        raise CitewellError(f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port") from None
    return found, is_loopback(str(address[0]))


def check_token(token: str, loopback: bool) -> None:
    """Whether a server may be started with this token, or without one."""
    how = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(24))'"
    if not token and not loopback:
        raise CitewellError(
            f"on an address that others can reach a token is needed: give --token or set $CITEWELL_TOKEN; {how}"
        )
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise CitewellError(f"the token must have at least {_SHORTEST_TOKEN} letters, digits or signs, and no space; {how}")


def address_of(listener: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def ensure_library(folder: Path) -> None:
    """Make an empty library where there is none, for files to be added to; read one where there is."""
    if not (folder / schema.FILE).exists():
        Library(folder).take([])
    with Library(folder) as library:
        len(library)


class _Server(uvicorn.Server):
    """Says when it has begun."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let both signals end it, as uvicorn does, but without raising them again: it has been ended as one ends it."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self.handle_exit)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def run(settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; requests under way get a few seconds, a job goes on with the next server."""
    desk = Desk(settings)
    desk.jobs.claim()
    config = uvicorn.Config(
        make(desk),
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # a client must not choose the address that it is known by
        server_header=False,
        http=connections.Connection,
        limit_concurrency=connections.MOST,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    server = _Server(config, ready)
    server.run(sockets=[listener])
    if not server.started:
        raise CitewellError("the server could not start; the lines above tell why")


def open_browser(address: str, token: str) -> None:
    """Open the page, without waiting for the browser."""
    threading.Thread(target=webbrowser.open, args=(_way_in(address, token) if token else address,), daemon=True).start()


def _way_in(address: str, token: str) -> str:
    """The address of a file that leads to the page with its token.

    A browser is told what to open on its command line, which everybody on the machine can read; the file only its owner can.
    The part of an address after # stays in the browser: it is in no request and no log.
    """
    with tempfile.NamedTemporaryFile("w", prefix="citewell-", suffix=".html", delete=False) as file:
        way = f"{address}#token={quote(token, safe='')}"
        file.write(f'<!doctype html><title>citewell</title><meta http-equiv="refresh" content="0; url={escape(way)}">\n')
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return Path(file.name).as_uri()
