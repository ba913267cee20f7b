"""The application: routes, and the guards before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from citewell import __version__
from citewell.errors import CitewellError
from citewell.serve import shapes
from citewell.serve.desk import Desk
from citewell.serve.limits import BodySize, Rate
from citewell.serve.messages import RefusedError
from citewell.serve.routes import adding, asking, drafts, papers
from citewell.serve.security import HEADERS, SafeHeaders, SameOrigin, Token

PAGE = Path(__file__).with_name("page")
_DRAFT_BYTES = 20_000_000

_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": shapes.Refusal, "description": why}
    for status, why in {
        400: "The request cannot be parsed.",
        401: "The token is missing or wrong.",
        403: "The request comes from a page of another origin.",
        404: "There is no such paper, job or page.",
        408: "The request came too slowly.",
        409: "The library cannot be written to.",
        413: "The request is too large.",
        421: "The request was meant for another host.",
        422: "Something that was given cannot be used; the detail says what, and the fix.",
        429: "Too many requests; Retry-After says how long to wait.",
        500: "The server has met an error of its own.",
        503: "It took too long, or too much is waiting.",
        507: "The disk is full.",
    }.items()
}


def make(desk: Desk) -> FastAPI:
    """The application for one library."""
    settings = desk.settings

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.start()
        try:
            yield
        finally:
            await desk.stop()

    app = FastAPI(
        title="citewell",
        version=__version__,
        summary="Tells a researcher what to cite, and why.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages fetch scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=_REFUSALS,
    )
    app.state.desk = desk
    for module in (asking, drafts, papers, adding):
        app.include_router(module.router)
    app.mount("/static", StaticFiles(directory=PAGE))
    app.add_api_route("/", _page, include_in_schema=False)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(CitewellError, _cannot)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _failed)
    # The last one added is the first that a request meets.
    app.add_middleware(
        BodySize,
        most=settings.body_bytes,
        uploads={"/api/add": settings.upload_bytes, "/api/draft/file": min(settings.upload_bytes, _DRAFT_BYTES)},
    )
    app.add_middleware(Token, token=settings.token)
    app.add_middleware(Rate, a_second=settings.requests_a_second)
    app.add_middleware(SameOrigin, only_this_machine=settings.loopback and not settings.token)
    app.add_middleware(SafeHeaders)
    return app


async def _page() -> Response:
    return FileResponse(PAGE / "index.html")


def _refusal(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode({"detail": detail}), status, headers, "application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _refusal(error.status, error.detail, {"Retry-After": "1"} if error.status == 503 else None)


async def _cannot(request: Request, error: Exception) -> Response:
    return _refusal(422, str(error))


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong with the request, in a line."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _refusal(400, "the body is no JSON")
    where = " ".join(".".join(str(part) for part in first["loc"][1:]).split())[:200] or str(first["loc"][0])
    more = len(error.errors()) - 1
    return _refusal(
        422, f"{where}: {first['msg']}{f' (and {more} more)' if more else ''}; GET /api/openapi.json describes what is taken"
    )


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    return _refusal(error.status_code, str(error.detail), headers)


async def _failed(request: Request, error: Exception) -> Response:
    """What nobody foresaw; it goes to the log, and past the guards, so the headers of safety are put on here."""
    return _refusal(500, "the server has met an error of its own; its log tells more", HEADERS)
