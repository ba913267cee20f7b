"""Manuscripts: read, checked, and given back with citations in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Request, Response, UploadFile

from citewell.serve import draft_shapes
from citewell.serve.desk import OneDesk
from citewell.serve.routes.naming import called

router = APIRouter(tags=["drafts"])


@router.post("/api/draft", response_model=draft_shapes.DraftShape)
async def draft(body: draft_shapes.DraftBody, request: Request, desk: OneDesk) -> Response:
    """What stands where in a manuscript: paragraphs, sentences, citations and gaps. No file that it names is opened."""
    return await desk.ask(request, "draft", body.model_dump())


@router.post("/api/draft/file", response_model=draft_shapes.DraftFileShape)
async def draft_file(
    file: Annotated[UploadFile, File(description="A .tex, .md, .qmd, .txt or .docx file, or a .zip of a LaTeX project.")],
    request: Request,
    desk: OneDesk,
) -> Response:
    """The same for a file, and its text."""
    return await desk.ask(request, "draft-file", {"name": called(file)}, await file.read())


@router.post("/api/check", response_model=draft_shapes.Findings)
async def check(body: draft_shapes.DraftBody, request: Request, desk: OneDesk) -> Response:
    """An audit: claims without a citation, entries never cited, keys that are missing, duplicates, disagreements."""
    return await desk.ask(request, "check", body.model_dump(), lane="checks")


@router.post("/api/accept", response_model=draft_shapes.AcceptedShape)
async def accept(body: draft_shapes.AcceptBody, request: Request, desk: OneDesk) -> Response:
    """The manuscript with citations at the chosen places, and its bibliography with the entries that they need."""
    return await desk.ask(request, "accept", body.model_dump())
