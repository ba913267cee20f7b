"""The JSON bodies of requests and responses about feedback, each with an example."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from citewell.serve.schemas import Name, Names, example


class FeedbackConsent(BaseModel):
    """Whether to record."""

    model_config = example(on=True)
    on: bool


class FeedbackMark(BaseModel):
    """A suggestion that was accepted or dismissed, and the query that it was for."""

    model_config = example(
        paper="doi:10.1000/harbour",
        mark="relevant",
        task="local",
        title="Boats and gulls",
        context="Boats were first counted from photographs TARGETCIT.",
    )
    paper: Name = Field(description="The id of the suggested paper.")
    mark: Literal["relevant", "irrelevant", "unclear"] = Field(
        description="Accepted, dismissed, or neither: this takes an earlier mark back."
    )
    query: str = Field(
        "",
        max_length=100,
        description="An id for the query; by default it follows from the texts. To change an earlier mark, send only this id.",
    )
    task: Literal["global", "local", "paragraph"] = "global"
    title: str = Field("", max_length=2_000)
    abstract: str = Field("", max_length=50_000)
    context: str = Field("", max_length=20_000, description="The text around the gap, or the topic sentence.")
    authors: Names = Field(default_factory=list)
    known: Names = Field(default_factory=list, description="Ids of papers that the draft cites.")


class FeedbackRecorded(BaseModel):
    """Whether a mark was recorded, and the id of its query."""

    model_config = example(recorded=True, query="desk-1f0c7d9a5b3e2468")
    recorded: bool = Field(description="False without consent.")
    query: str


class FeedbackStatus(BaseModel):
    """Whether feedback is recorded, and what has been."""

    model_config = example(
        available=True,
        on=True,
        since="2026-01-02T03:04:05+00:00",
        file="/home/mira/.local/share/citewell/library/feedback/judgements.jsonl",
        relevant=12,
        irrelevant=5,
    )
    available: bool = Field(description="False if the server is open to the network: then it records nothing.")
    on: bool
    since: str = Field(description="When the user consented; empty if feedback is off.")
    file: str = Field(description="Where it is recorded; empty if the client is on another machine.")
    relevant: int
    irrelevant: int
