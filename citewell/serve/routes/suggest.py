"""Suggestions and search."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from citewell.serve import schemas
from citewell.serve.app_state import State, pool_for

router = APIRouter(tags=["suggest"])


@router.post("/api/suggest", response_model=schemas.Results)
async def suggest(body: schemas.SuggestRequest, request: Request, state: State) -> Response:
    """Papers to cite in a manuscript, at a gap in a sentence, or in a paragraph that has only begun, each with reasons."""
    return await state.call(request, "suggest", body.model_dump(), pool=pool_for(body.pipeline))


@router.post("/api/search", response_model=schemas.Results)
async def search(body: schemas.SearchRequest, request: Request, state: State) -> Response:
    """Papers that answer a question or support a claim, with the sentences that do."""
    return await state.call(request, "search", body.model_dump(), pool=pool_for(body.pipeline))
