"""Starts the server: opens the socket, checks the settings, runs uvicorn."""

from __future__ import annotations

import atexit
import logging
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI

from citewell.errors import CitewellError
from citewell.library.library import Library
from citewell.library.store import schema
from citewell.serve import connections
from citewell.serve.app import create_app
from citewell.serve.app_state import AppState
from citewell.serve.security import is_loopback
from citewell.serve.settings import Settings

_MIN_TOKEN_LENGTH = 16
_SHUTDOWN_SECONDS = 1
"""How long requests that no worker handles, such as uploads, may go on after a signal."""


def listen(host: str, port: int) -> tuple[socket.socket, bool]:
    """A listening socket, and whether only this machine can reach it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        raise CitewellError(f"{host!r} is not an address of this machine ({error.strerror}); try 127.0.0.1") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(connections.MAX_CONNECTIONS)
    except OSError as error:
        listener.close()
        raise CitewellError(f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port") from None
    return listener, is_loopback(str(address[0]))


def check_token(token: str, loopback: bool) -> None:
    """Raise an error if the server must not start with this token, or without one."""
    how = "create one with: python3 -c 'import secrets; print(secrets.token_urlsafe(24))'"
    if not token and not loopback:
        raise CitewellError(
            f"other machines can reach this address, so a token is required: use --token or set $CITEWELL_TOKEN; {how}"
        )
    if token and (len(token) < _MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token):
        raise CitewellError(
            f"the token must have at least {_MIN_TOKEN_LENGTH} ASCII letters, digits or punctuation marks, no space; {how}"
        )


def url_of(listener: socket.socket) -> str:
    """The URL of the server for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def ensure_library(folder: Path) -> None:
    """Create an empty library if there is none, and check that it can be read."""
    if not (folder / schema.FILE).exists():
        Library(folder).take([])
    with Library(folder) as library:
        len(library)


class _Server(uvicorn.Server):
    """Calls `ready` once the server accepts requests, and `stop` before it waits for requests that still run."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], Awaitable[None]], ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM as uvicorn does, but do not raise them again: this is the normal way to stop."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self.handle_exit)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").disabled = True  # a request that is cut off is not an error
        await self._stop()
        await super().shutdown(sockets)


def run(settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM. Running requests get status 503; the next server resumes an unfinished job."""
    state = AppState(settings)
    state.jobs.lock()
    run_app(create_app(state), state.stop, listener, ready)


def run_app(app: FastAPI, stop: Callable[[], Awaitable[None]], listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve an application until SIGINT or SIGTERM; `stop` ends what it has started."""
    config = uvicorn.Config(
        app,
        loop="asyncio",  # the same on every machine, whether uvloop is installed or not
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # a client must not choose the address that it is known by
        server_header=False,
        http=connections.Connection,
        limit_concurrency=connections.MAX_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = _Server(config, stop, ready)
    server.run(sockets=[listener])
    if not server.started:
        raise CitewellError("the server could not start; see the lines above")


def open_browser(url: str, token: str) -> None:
    """Open the page without waiting for the browser."""
    threading.Thread(target=webbrowser.open, args=(_redirect_file(url, token) if token else url,), daemon=True).start()


def _redirect_file(url: str, token: str) -> str:
    """The URL of a local file that redirects to the page with its token.

    Every user of the machine can read a browser's command line; only the owner can read the file. The part of a URL after #
    stays in the browser: it is in no request and in no log.
    """
    with tempfile.NamedTemporaryFile("w", prefix="citewell-", suffix=".html", delete=False) as file:
        target = f"{url}#token={quote(token, safe='')}"
        file.write(f'<!doctype html><title>citewell</title><meta http-equiv="refresh" content="0; url={escape(target)}">\n')
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return Path(file.name).as_uri()
