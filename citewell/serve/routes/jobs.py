"""Imports of files, and the jobs that run them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Path, Response, UploadFile
from msgspec.json import encode

from citewell.serve import schemas
from citewell.serve.app_state import State
from citewell.serve.routes.file_names import display_name

router = APIRouter(tags=["jobs"])


@router.post("/api/add", status_code=202, response_model=schemas.JobCreated)
async def add(
    files: Annotated[list[UploadFile], File(description="Files in any format that citewell reads.")], state: State
) -> Response:
    """Add papers from files: BibTeX, RIS, CSL-JSON, EndNote, CSV, JSON lines and others, recognised by content.

    The server responds when the files are safe on disk; GET /api/jobs/{id} shows the progress of the import.
    """
    job = await state.jobs.add([(display_name(each), each.file) for each in files])
    return _json({"job": job}, 202)


@router.get("/api/jobs", response_model=list[schemas.Job])
async def jobs(state: State) -> Response:
    """All jobs, the newest first."""
    return _json(state.jobs.list())


@router.get("/api/jobs/{id}", response_model=schemas.Job)
async def job(id: Annotated[str, Path(max_length=100, examples=["20260102-030405-1a2b3c4d"])], state: State) -> Response:
    """The progress of one job."""
    return _json(state.jobs.get(id))


def _json(value: object, status: int = 200) -> Response:
    return Response(encode(value), status, media_type="application/json")
