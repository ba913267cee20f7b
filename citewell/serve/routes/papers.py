"""The library: statistics, single papers, and exports."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from citewell.serve import schemas
from citewell.serve.app_state import State, pool_for

router = APIRouter(tags=["papers"])

Id = Annotated[
    str,
    Path(
        min_length=1,
        max_length=1000,
        description="Any id of the paper, with slashes and colons unescaped, or its citation key.",
        examples=["doi:10.1000/harbour"],
    ),
]
Year = Annotated[int | None, Query(ge=0, le=9999)]


@router.get("/api/health", response_model=schemas.Health)
async def health(request: Request, state: State) -> Response:
    """Whether the server is up, and the number of papers."""
    return await state.call(request, "health", {})


@router.get("/api/library", response_model=schemas.LibraryInfo)
async def library(request: Request, state: State) -> Response:
    """The contents of the library."""
    return await state.call(request, "library", {"loopback": state.settings.loopback})


@router.get("/api/pipelines", response_model=list[schemas.PipelineInfo])
async def pipelines(request: Request, state: State) -> Response:
    """All named pipelines."""
    return await state.call(request, "pipelines", {})


@router.get("/api/papers", response_model=schemas.PaperPage)
async def papers(
    request: Request,
    state: State,
    query: Annotated[str, Query(max_length=500, description="Words from titles, authors, venues or ids; all must match.")] = "",
    since: Year = None,
    before: Year = None,
    offset: Annotated[int, Query(ge=0, le=100_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """List the papers of the library, the newest first."""
    parameters = {"query": query, "since": since, "before": before, "offset": offset, "limit": limit}
    return await state.call(request, "papers", parameters)


@router.get("/api/papers/{id:path}/related", response_model=schemas.Related)
async def related(
    request: Request,
    state: State,
    id: Id,
    k: Annotated[int, Query(ge=1, le=200)] = 10,
    pipeline: Annotated[str, Query(min_length=1, max_length=100)] = "fast",
) -> Response:
    """The papers most similar to one; reasons of the kind `link` mark those that cite it or that it cites."""
    parameters = {"id": id, "k": k, "pipeline": pipeline}
    return await state.call(request, "related", parameters, pool=pool_for(pipeline))


@router.get("/api/papers/{id:path}", response_model=schemas.PaperRecord)
async def paper(request: Request, state: State, id: Id) -> Response:
    """One paper: its full record, its references and the papers that cite it."""
    return await state.call(request, "paper", {"id": id})


_FILES = {
    media: {"schema": {"type": "string", "format": "binary"}}
    for media in (
        "application/x-bibtex",
        "application/x-research-info-systems",
        "application/vnd.citationstyles.csl+json",
        "application/jsonl",
    )
}


@router.post(
    "/api/export",
    response_class=Response,
    responses={200: {"description": "The papers in one file.", "content": _FILES}},
)
async def export(body: schemas.ExportRequest, request: Request, state: State) -> Response:
    """Export papers as a file for other programs."""
    return await state.call(request, "export", body.model_dump())
