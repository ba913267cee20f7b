"""Suggestions and search."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from citewell.serve import shapes
from citewell.serve.desk import OneDesk, lane_of

router = APIRouter(tags=["asking"])


@router.post("/api/suggest", response_model=shapes.Suggestions)
async def suggest(body: shapes.SuggestBody, request: Request, desk: OneDesk) -> Response:
    """What to cite in a manuscript, at a gap in a sentence, or in a paragraph that is only begun; each with its reasons."""
    return await desk.ask(request, "suggest", body.model_dump(), lane=lane_of(body.pipeline))


@router.post("/api/search", response_model=shapes.Search)
async def search(body: shapes.SearchBody, request: Request, desk: OneDesk) -> Response:
    """Papers that answer a question or bear on a claim, with the sentences that do."""
    return await desk.ask(request, "search", body.model_dump(), lane=lane_of(body.pipeline))
