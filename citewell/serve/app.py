"""The FastAPI application: routes, middleware and error responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from citewell import __version__
from citewell.errors import CitewellError
from citewell.serve import schemas
from citewell.serve.app_state import AppState
from citewell.serve.errors import ApiError, error_body
from citewell.serve.limits import BodyLimit, RateLimit
from citewell.serve.routes import drafts, feedback, jobs, papers, suggest
from citewell.serve.security import SECURITY_HEADERS, BearerToken, OriginCheck, SecurityHeaders

PAGE = Path(__file__).with_name("page")
_DRAFT_BYTES = 20_000_000

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Error, "description": description}
    for status, description in {
        400: "The request cannot be parsed.",
        401: "The token is missing or wrong.",
        403: "The request comes from a page of another origin, or the server does not allow it.",
        404: "There is no such paper, job or page.",
        408: "The request arrived too slowly.",
        409: "The library is read-only.",
        413: "The request is too large.",
        421: "The Host header names another machine.",
        422: "A value in the request is invalid; the detail says which one and how to fix it.",
        429: "Too many requests; Retry-After says how many seconds to wait.",
        500: "Internal server error.",
        503: "The request took too long, or too many requests are waiting.",
        507: "The disk is full.",
    }.items()
}


def create_app(state: AppState) -> FastAPI:
    """The application for one library."""
    settings = state.settings

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state.start()
        try:
            yield
        finally:
            await state.stop()

    app = FastAPI(
        title="citewell",
        version=__version__,
        summary="Suggests papers to cite, with reasons.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from other servers
        redoc_url=None,
        lifespan=lifespan,
        responses=_ERRORS,
    )
    app.state.citewell = state
    for module in (suggest, drafts, papers, jobs, feedback):
        app.include_router(module.router)
    app.mount("/static", StaticFiles(directory=PAGE))
    app.add_api_route("/", _page, include_in_schema=False)
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(CitewellError, _citewell_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(Exception, _unexpected_error)
    # Middleware that is added last runs first.
    app.add_middleware(
        BodyLimit,
        max_bytes=settings.body_bytes,
        uploads={"/api/add": settings.upload_bytes, "/api/draft/file": min(settings.upload_bytes, _DRAFT_BYTES)},
    )
    app.add_middleware(BearerToken, token=settings.token)
    app.add_middleware(RateLimit, per_second=settings.requests_per_second)
    app.add_middleware(OriginCheck, only_this_machine=settings.loopback and not settings.token)
    app.add_middleware(SecurityHeaders)
    return app


async def _page() -> Response:
    return FileResponse(PAGE / "index.html")


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
