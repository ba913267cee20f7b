"""Adding files, and the jobs that do it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Path, Response, UploadFile
from msgspec.json import encode

from citewell.serve import shapes
from citewell.serve.desk import OneDesk
from citewell.serve.routes.naming import called

router = APIRouter(tags=["adding"])


@router.post("/api/add", status_code=202, response_model=shapes.Accepted)
async def add(
    files: Annotated[list[UploadFile], File(description="Files of any format that citewell reads.")], desk: OneDesk
) -> Response:
    """Add papers from files: BibTeX, RIS, CSL-JSON, JSON lines and others, found by content.

    The answer comes when the files are safe on disk; GET /api/jobs/{id} tells how far the adding is.
    """
    job = await desk.jobs.add([(called(each), each.file) for each in files])
    return _json({"job": job}, 202)


@router.get("/api/jobs", response_model=list[shapes.Job])
async def jobs(desk: OneDesk) -> Response:
    """All jobs that are remembered, the newest first."""
    return _json(desk.jobs.list())


@router.get("/api/jobs/{id}", response_model=shapes.Job)
async def job(id: Annotated[str, Path(max_length=100, examples=["20260102-030405-1a2b3c4d"])], desk: OneDesk) -> Response:
    """How far one job is."""
    return _json(desk.jobs.find(id))


def _json(value: object, status: int = 200) -> Response:
    return Response(encode(value), status, media_type="application/json")
