"""Manuscripts: parse them, check them, insert citations."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Request, Response, UploadFile

from citewell.serve import draft_schemas
from citewell.serve.app_state import State
from citewell.serve.routes.file_names import display_name

router = APIRouter(tags=["drafts"])


@router.post("/api/draft", response_model=draft_schemas.Draft)
async def draft(body: draft_schemas.DraftRequest, request: Request, state: State) -> Response:
    """The paragraphs, sentences, citations and gaps of a manuscript. Files that it names are not opened."""
    return await state.call(request, "draft", body.model_dump())


@router.post("/api/draft/file", response_model=draft_schemas.DraftFile)
async def draft_file(
    file: Annotated[
        UploadFile, File(description="A .tex, .md, .qmd, .typ, .org, .ipynb, .txt or .docx file, or a .zip of a LaTeX project.")
    ],
    request: Request,
    state: State,
) -> Response:
    """The same for an uploaded file, and its text."""
    return await state.call(request, "draft-file", {"name": display_name(file)}, await file.read())


@router.post("/api/check", response_model=draft_schemas.Findings)
async def check(body: draft_schemas.DraftRequest, request: Request, state: State) -> Response:
    """Check a manuscript: claims without a citation, entries that are never cited, missing keys, duplicates, disagreements."""
    return await state.call(request, "check", body.model_dump(), pool="checks")


@router.post("/api/accept", response_model=draft_schemas.AcceptedDraft)
async def accept(body: draft_schemas.AcceptRequest, request: Request, state: State) -> Response:
    """Insert citations at the chosen places and add their entries to the bibliography."""
    return await state.call(request, "accept", body.model_dump())
