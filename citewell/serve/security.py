"""Middleware that decides who may use the server and what browsers may do with its responses.

On loopback, a website that the user visits must not reach the server through their browser. Two checks prevent that: the Host
header must name this machine (otherwise a DNS name that points to 127.0.0.1 would work), and requests that a browser marks as
coming from another origin are rejected. There are no CORS headers, so no other page can read a response. On other addresses
every request needs the token, which no other page has; the same holds on loopback if a token is set.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from citewell.serve.errors import send_error

API_PREFIX = "/api/"
"""Paths with this prefix need the token; the page and its scripts contain nothing of the library."""

_CONTENT_SECURITY_POLICY = "; ".join(
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
SECURITY_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Adds the security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers["Cache-Control"] = "no-store" if scope["path"].startswith(API_PREFIX) else "no-cache"
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class OriginCheck:
    """Rejects browser requests from pages of other origins and, without a token, requests for other hosts."""

    def __init__(self, app: ASGIApp, only_this_machine: bool) -> None:
        self._app = app
        self._only_this_machine = only_this_machine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            if self._only_this_machine and not names_this_machine(host):
                await send_error(send, 421, "This server accepts requests to 127.0.0.1 and localhost only; use one of these.")
                return
            foreign = "origin" in headers and _host_of(headers["origin"]) != host.lower()
            cross_site = headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["path"].startswith(API_PREFIX)
            if foreign or cross_site:
                await send_error(send, 403, "Pages of other origins may not use this server; open the page that it serves.")
                return
        await self._app(scope, receive, send)


class BearerToken:
    """Rejects API requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._token and scope["type"] == "http" and scope["path"].startswith(API_PREFIX):
            scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode("latin-1"), self._token):
                detail = "This server requires a token; send it as 'Authorization: Bearer TOKEN'."
                await send_error(send, 401, detail, {"WWW-Authenticate": "Bearer"})
                return
        await self._app(scope, receive, send)


def _host_of(origin: str) -> str:
    """The host and port of an origin; empty if it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def names_this_machine(host: str) -> bool:
    """Whether a Host header, with or without a port, names a loopback address."""
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower() == "localhost" or is_loopback(name)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
