"""The FastAPI application of a user study: its page and its API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field

from citewell import __version__
from citewell.judgements import Mark, Reason
from citewell.serve import schemas
from citewell.serve.application import add_error_handlers, add_middleware
from citewell.serve.user_study.judging import Judging
from citewell.user_study.study import Study

STUDY_PAGE = Path(__file__).parents[1] / "study_page"
PAGE = Path(__file__).parents[1] / "page"
"""The page of `citewell serve`, whose style and basic modules the page of a study uses."""
_BODY_BYTES = 1_000_000
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Error} for status in (400, 401, 403, 404, 413, 421, 422, 429, 500)
}

JudgeName = Annotated[str, Field(min_length=1, max_length=80, description="The name under which marks are stored.")]
Number = Annotated[int, Field(ge=1, description="The number of the context, from 1.")]


class JudgeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    judge: JudgeName


class ContextRequest(JudgeRequest):
    number: Number


class MarksRequest(ContextRequest):
    marks: dict[str, Mark] = Field(min_length=1, max_length=1000, description="The id of each paper, and its mark.")


class LeaveRequest(ContextRequest):
    reason: Reason


class About(BaseModel):
    """A study."""

    name: str
    task: str
    contexts: int
    columns: int
    k: int
    judges: list[str] = Field(description="Who may judge; empty for anyone.")


class Progress(BaseModel):
    """Where a judge stands."""

    judge: str
    contexts: list[Literal["open", "begun", "done", "skipped", "insufficient"]]


class Answer(BaseModel):
    """What a judge has said about one context so far."""

    status: Literal["open", "begun", "done", "skipped", "insufficient"]
    marks: dict[str, Mark]


class Piece(BaseModel):
    kind: Literal["text", "gap", "citation"]
    text: str


class Column(BaseModel):
    """The papers of one system, the best first. Which system it is stays hidden."""

    label: str
    papers: list[str]


class ShownPaper(BaseModel):
    id: str
    title: str
    abstract: str = ""
    authors: list[str] = []
    year: int | None = None
    venue: str = ""


class Context(Answer):
    """One context as a judge sees it."""

    number: int
    title: str = Field(description="Of the citing paper; empty if the study does not show it.")
    abstract: str
    pieces: list[Piece]
    columns: list[Column]
    papers: dict[str, ShownPaper]


def create_app(study: Study, token: str = "", loopback: bool = True) -> FastAPI:
    """The application for one study."""
    judging = Judging(study)
    app = FastAPI(
        title="citewell user study",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from other servers
        redoc_url=None,
        responses=_ERRORS,
    )

    # The functions are not async: they write to the disk, and so run in threads.

    @app.get("/api/health")
    def health() -> dict[str, str]:
        """Whether the server is up."""
        return {"status": "ok"}

    @app.get("/api/study", response_model=About)
    def about() -> dict[str, Any]:
        """What the study asks."""
        return judging.about()

    @app.post("/api/progress", response_model=Progress)
    def progress(body: JudgeRequest) -> dict[str, Any]:
        """Which contexts a judge has done, begun or left out."""
        return judging.progress(body.judge)

    @app.post("/api/context", response_model=Context)
    def context(body: ContextRequest) -> dict[str, Any]:
        """One context with its suggestions; the order of the columns is random for each judge and context."""
        return judging.context(body.judge, body.number)

    @app.post("/api/marks", response_model=Answer)
    def marks(body: MarksRequest) -> dict[str, Any]:
        """Mark papers; the marks are on the disk when the response arrives."""
        return judging.mark(body.judge, body.number, body.marks)

    @app.post("/api/leave", response_model=Answer)
    def leave(body: LeaveRequest) -> dict[str, Any]:
        """Skip a context, or say that its text does not suffice; a later mark takes that back."""
        return judging.leave(body.judge, body.number, body.reason)

    @app.post("/api/export", response_class=Response)
    def export(body: JudgeRequest) -> Response:
        """The marks of one judge as JSON lines."""
        headers = {"Content-Disposition": 'attachment; filename="judgements.jsonl"'}
        return Response(judging.export(body.judge), 200, headers, "application/jsonl")

    app.mount("/page", StaticFiles(directory=PAGE))
    app.mount("/study_page", StaticFiles(directory=STUDY_PAGE))
    app.add_api_route("/", lambda: FileResponse(STUDY_PAGE / "index.html"), include_in_schema=False)
    add_error_handlers(app)
    add_middleware(app, token, loopback, 500.0 if loopback else 20.0, _BODY_BYTES, {})
    return app
