"""The FastAPI application for a library, and its routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from citewell import __version__
from citewell.serve import schemas
from citewell.serve.app_state import AppState
from citewell.serve.application import add_error_handlers, add_middleware
from citewell.serve.routes import drafts, feedback, jobs, papers, suggest

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
    add_error_handlers(app)
    uploads = {"/api/add": settings.upload_bytes, "/api/draft/file": min(settings.upload_bytes, _DRAFT_BYTES)}
    add_middleware(app, settings.token, settings.loopback, settings.requests_per_second, settings.body_bytes, uploads)
    return app


async def _page() -> Response:
    return FileResponse(PAGE / "index.html")
