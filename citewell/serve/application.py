"""What every application of this package has: error responses of one line, and the middleware that protects it."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from citewell.errors import CitewellError
from citewell.serve.errors import ApiError, error_body
from citewell.serve.limits import BodyLimit, RateLimit
from citewell.serve.security import SECURITY_HEADERS, BearerToken, OriginCheck, SecurityHeaders


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a status and one line that says how to fix it."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(CitewellError, _citewell_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(Exception, _unexpected_error)


def add_middleware(
    app: FastAPI, token: str, loopback: bool, requests_per_second: float, body_bytes: int, uploads: Mapping[str, int]
) -> None:
    """Check and limit requests; `uploads` are the paths that take larger bodies, and the largest body there."""
    # Middleware that is added last runs first.
    app.add_middleware(BodyLimit, max_bytes=body_bytes, uploads=dict(uploads))
    app.add_middleware(BearerToken, token=token)
    app.add_middleware(RateLimit, per_second=requests_per_second)
    app.add_middleware(OriginCheck, only_this_machine=loopback and not token)
    app.add_middleware(SecurityHeaders)


def _error(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    return Response(error_body(detail), status, headers, "application/json")


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _error(error.status, error.detail, {"Retry-After": "1"} if error.status == 503 else None)


async def _citewell_error(request: Request, error: Exception) -> Response:
    return _error(422, " ".join(str(error).split()))


async def _validation_error(request: Request, error: Exception) -> Response:
    """The first invalid value, in one line."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _error(400, "The request body is not valid JSON.")
    field = " ".join(".".join(str(part) for part in first["loc"][1:]).split())[:200] or str(first["loc"][0])
    others = len(error.errors()) - 1
    more = f" ({others} more)" if others else ""
    return _error(422, f"{field}: {first['msg']}{more}. GET /api/openapi.json describes the request.")


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    return _error(error.status_code, str(error.detail), headers)


async def _unexpected_error(request: Request, error: Exception) -> Response:
    """An unexpected exception. This response bypasses the middleware, so it sets the security headers itself."""
    return _error(500, "Internal server error; the server's log has the details.", SECURITY_HEADERS)
