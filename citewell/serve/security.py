"""Who may ask, and what a browser may do with what it gets.

On loopback, a web page that the user visits elsewhere must not reach the server through their browser. Two checks keep it out:
the Host header must name this machine (else a name that was pointed at 127.0.0.1 would do), and a request that a browser says
comes from another origin is refused. There are no CORS headers, so no other page can read an answer. Beyond loopback every
request needs the token, which no other page has; so does every request where a token was given.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.serve.refusing import refuse

GUARDED = "/api/"
"""What begins so needs the token; the page and its modules hold nothing of the library."""

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SafeHeaders:
    """Puts the headers of safety on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["Cache-Control"] = "no-store" if scope["path"].startswith(GUARDED) else "no-cache"
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class SameOrigin:
    """Refuses what a browser sends for a page of another origin; where there is no token, also what is for another host."""

    def __init__(self, app: ASGIApp, only_this_machine: bool) -> None:
        self._app = app
        self._only_this_machine = only_this_machine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            if self._only_this_machine and not names_this_machine(host):
                await refuse(send, 421, "this server answers on 127.0.0.1 and localhost alone; use one of these in the address")
                return
            foreign = "origin" in headers and _host_of(headers["origin"]) != host.lower()
            elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["path"].startswith(GUARDED)
            if foreign or elsewhere:
                await refuse(send, 403, "pages of other origins may not ask this server; open the page that it serves itself")
                return
        await self._app(scope, receive, send)


class Token:
    """Lets nobody ask who does not show the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._token and scope["type"] == "http" and scope["path"].startswith(GUARDED):
            kind, _, shown = Headers(scope=scope).get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode("latin-1"), self._token):
                detail = "this server needs its token: send it as 'Authorization: Bearer TOKEN'"
                await refuse(send, 401, detail, {"WWW-Authenticate": "Bearer"})
                return
        await self._app(scope, receive, send)


def _host_of(origin: str) -> str:
    """Host and port of an origin; empty for one that has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def names_this_machine(host: str) -> bool:
    """Whether a Host header, with or without a port, names the loopback."""
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower() == "localhost" or is_loopback(name)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
