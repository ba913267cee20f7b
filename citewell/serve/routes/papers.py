"""The library: what is in it, single papers, papers as files."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from citewell.serve import shapes
from citewell.serve.desk import OneDesk, lane_of

router = APIRouter(tags=["papers"])

Id = Annotated[
    str,
    Path(
        min_length=1,
        max_length=1000,
        description="Any identifier of the paper, slashes and colons as they are, or a citation key.",
        examples=["doi:10.1000/harbour"],
    ),
]
Year = Annotated[int | None, Query(ge=0, le=9999)]


@router.get("/api/health", response_model=shapes.Health)
async def health(request: Request, desk: OneDesk) -> Response:
    """Whether the server answers, and how many papers it has."""
    return await desk.ask(request, "health", {})


@router.get("/api/library", response_model=shapes.LibraryInfo)
async def library(request: Request, desk: OneDesk) -> Response:
    """What the library holds."""
    return await desk.ask(request, "library", {"loopback": desk.settings.loopback})


@router.get("/api/pipelines", response_model=list[shapes.PipelineInfo])
async def pipelines(request: Request, desk: OneDesk) -> Response:
    """The named ways of finding papers."""
    return await desk.ask(request, "pipelines", {})


@router.get("/api/papers", response_model=shapes.PaperPage)
async def papers(
    request: Request,
    desk: OneDesk,
    query: Annotated[str, Query(max_length=500, description="Words of titles, names, venues or ids; all must be there.")] = "",
    since: Year = None,
    before: Year = None,
    offset: Annotated[int, Query(ge=0, le=100_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Look through the library, the newest papers first."""
    given = {"query": query, "since": since, "before": before, "offset": offset, "limit": limit}
    return await desk.ask(request, "papers", given)


@router.get("/api/papers/{id:path}/related", response_model=shapes.Related)
async def related(
    request: Request,
    desk: OneDesk,
    id: Id,
    k: Annotated[int, Query(ge=1, le=200)] = 10,
    pipeline: Annotated[str, Query(min_length=1, max_length=100)] = "fast",
) -> Response:
    """The papers nearest to one; reasons tell which of them cite it, and which it cites."""
    given = {"id": id, "k": k, "pipeline": pipeline}
    return await desk.ask(request, "related", given, lane=lane_of(pipeline))


@router.get("/api/papers/{id:path}", response_model=shapes.WholePaper)
async def paper(request: Request, desk: OneDesk, id: Id) -> Response:
    """One paper, whole: its record, what it cites and what cites it."""
    return await desk.ask(request, "paper", {"id": id})


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
    "/api/export", response_class=Response, responses={200: {"description": "The papers in one file.", "content": _FILES}}
)
async def export(body: shapes.ExportBody, request: Request, desk: OneDesk) -> Response:
    """Papers as a file that other programs read."""
    return await desk.ask(request, "export", body.model_dump())
