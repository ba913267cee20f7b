"""Feedback: consent to recording which suggestions are accepted and dismissed, the records, and their deletion."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from citewell.serve import feedback_schemas as schemas
from citewell.serve.app_state import AppState, State
from citewell.serve.errors import ApiError

router = APIRouter(tags=["feedback"])


@router.get("/api/feedback", response_model=schemas.FeedbackStatus)
async def status(request: Request, state: State) -> Response:
    """Whether feedback can be recorded, whether the user consents, and what has been recorded."""
    return await _call(request, state, "feedback-status", {})


@router.post("/api/feedback", response_model=schemas.FeedbackRecorded)
async def mark(body: schemas.FeedbackMark, request: Request, state: State) -> Response:
    """Record that a suggestion was accepted or dismissed, or take that back. Without consent nothing is recorded."""
    _require_loopback(state)
    return await _call(request, state, "feedback-mark", body.model_dump())


@router.post("/api/feedback/consent", response_model=schemas.FeedbackStatus)
async def consent(body: schemas.FeedbackConsent, request: Request, state: State) -> Response:
    """Turn recording on or off."""
    _require_loopback(state)
    return await _call(request, state, "feedback-consent", body.model_dump())


@router.delete("/api/feedback", response_model=schemas.FeedbackStatus)
async def delete(request: Request, state: State) -> Response:
    """Delete everything that was recorded."""
    _require_loopback(state)
    return await _call(request, state, "feedback-delete", {})


async def _call(request: Request, state: AppState, handler: str, parameters: dict[str, Any]) -> Response:
    return await state.call(request, handler, {**parameters, "loopback": state.settings.loopback})


def _require_loopback(state: AppState) -> None:
    """One person's consent must not cover the others who use a server over the network."""
    if not state.settings.loopback:
        raise ApiError(403, "This server is open to the network, where nobody can consent for others; it records nothing.")
