"""The JSON bodies of requests and responses, as the OpenAPI description shows them, each with an example.

Requests are validated against these models. Responses are built by `citewell.serialize`, which the commands use too; tests
check them against these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell import __version__
from citewell.pipeline.registry import DEFAULT

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Names = Annotated[list[Name], Field(max_length=500)]
Year = Annotated[int, Field(ge=0, le=9999)]

_PAPER: dict[str, Any] = {
    "id": "doi:10.1000/harbour",
    "title": "Counting boats in the harbour",
    "authors": ["Mira Holt", "Jon Pike"],
    "year": 2015,
    "venue": "Journal of Harbours",
    "doi": "10.1000/harbour",
}
_REASON = {"kind": "words", "text": "Matches boats, photographs.", "data": ["boats", "photographs"], "detail": False}
_SENTENCE = {
    "text": "We find that gulls disturb the count.",
    "section": "abstract",
    "begin": 45,
    "end": 82,
    "score": 2.5,
    "words": ["gulls", "disturb", "count"],
    "before": "We count boats from photographs of a harbour.",
    "after": "",
}
SUGGESTION = {"rank": 1, **_PAPER, "score": 7.25, "reasons": [_REASON], "sentences": [_SENTENCE]}


def example(**shown: Any) -> ConfigDict:
    """A model that allows no other fields, with an example."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [shown]})


# -- requests -----------------------------------------------------------------------------------------------------------


class Filters(BaseModel):
    """Which papers to consider, and how."""

    since: Year | None = Field(None, description="Only papers of this year or later.")
    before: Year | None = Field(None, description="Only papers from before this year.")
    venue: str = Field("", max_length=500, description="Only papers whose venue contains this text.")
    exclude: Names = Field(default_factory=list, description="Ids of papers to leave out.")
    k: int = Field(10, ge=1, le=200, description="The number of papers to return.")
    pipeline: str = Field(
        DEFAULT,
        min_length=1,
        max_length=100,
        description="A name from GET /api/pipelines; 'fast' suits use while typing.",
    )


class SuggestRequest(Filters):
    """The text being written, and the gap to fill."""

    model_config = example(
        title="Boats and gulls", context="Boats were first counted from photographs [?].", k=5, pipeline="fast"
    )
    task: Literal["", "global", "local", "paragraph"] = Field(
        "", description="Empty means local if there is a context, otherwise global."
    )
    title: str = Field("", max_length=2_000)
    abstract: str = Field("", max_length=50_000)
    context: str = Field("", max_length=20_000, description="The text around a gap ([?] or TARGETCIT), or a topic sentence.")
    authors: Names = Field(default_factory=list, description="The authors of the draft.")
    known: Names = Field(
        default_factory=list, description="Ids of papers that the draft cites already; they improve the ranking."
    )
    only_new: bool = Field(False, description="Whether to leave the known papers out of the suggestions.")


class SearchRequest(Filters):
    """A question or a claim."""

    model_config = example(question="do gulls disturb the counting of boats?", k=5, sentences=2, pipeline="fast")
    question: str = Field(min_length=1, max_length=5_000)
    sentences: int = Field(2, ge=0, le=20, description="The number of sentences to quote per paper.")


class ExportRequest(BaseModel):
    """The papers to export and the file format."""

    model_config = example(ids=["doi:10.1000/harbour"], format="bibtex")
    ids: list[Name] = Field(min_length=1, max_length=5_000)
    format: Literal["bibtex", "ris", "csl", "jsonl"] = "bibtex"


# -- responses ----------------------------------------------------------------------------------------------------------


class Error(BaseModel):
    """What is wrong with the request, and how to fix it."""

    model_config = example(detail="There is no pipeline 'nope'; 'citewell pipelines' lists them.")
    detail: str


class Health(BaseModel):
    """The state of the server."""

    model_config = example(status="ok", version=__version__, papers=27525)
    status: Literal["ok"]
    version: str
    papers: int


class LibraryInfo(BaseModel):
    """The output of ``citewell library info --json``, and the number of papers per year."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "papers": 4,
                    "with_abstract": 4,
                    "citations": 6,
                    "contexts": 2,
                    "sentences": 2,
                    "segments": 5,
                    "bytes": 250_000,
                    "folder": "/home/mira/.local/share/citewell/library",
                    "years": {"2015": 1, "2017": 1, "2019": 1, "2021": 1},
                }
            ]
        },
    )
    papers: int
    with_abstract: int
    citations: int
    contexts: int
    sentences: int
    segments: int
    bytes: int
    folder: str = Field(description="Empty if the client is on another machine.")
    years: dict[str, int]


class PipelineInfo(BaseModel):
    """One named pipeline."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"name": "fast", "about": "For use while typing", "missing_weights": []}]},
    )
    name: str
    about: str
    missing_weights: list[str] = Field(description="Model weights that the pipeline needs and that are not installed.")


class PaperSummary(BaseModel):
    """A paper in a list."""

    model_config = example(**_PAPER)
    id: str
    title: str
    authors: list[str]
    year: int | None
    venue: str
    doi: str | None


class Reason(BaseModel):
    """Why a paper is suggested."""

    model_config = example(**_REASON)
    kind: str
    text: str
    data: list[str] = Field(description="The matching words, or the ids of the papers that the text names.")
    detail: bool = Field(description="Whether it lists scores or features, which most users do not need.")


class QuotedSentence(BaseModel):
    """A sentence of a paper that matches the query."""

    model_config = example(**_SENTENCE)
    text: str
    section: str
    begin: int = Field(description="Its position in the section, in code points.")
    end: int
    score: float
    words: list[str] = Field(description="Its words that the query contains too.")
    before: str = Field(description="The sentence before it in the same section; empty if there is none.")
    after: str


class Suggestion(PaperSummary):
    """A suggested paper."""

    model_config = example(**SUGGESTION)
    rank: int
    score: float
    reasons: list[Reason] = Field(description="The most important reason first.")
    sentences: list[QuotedSentence] = Field(description="Its sentences that match the query best.")


class Query(BaseModel):
    """The query that the results are for."""

    title: str
    abstract: str
    context: str


class Results(BaseModel):
    """The output of ``citewell suggest --json`` and ``citewell search --json``."""

    model_config = example(
        task="local",
        query={"title": "Boats and gulls", "abstract": "", "context": "Boats were counted TARGETCIT."},
        notes=["Vectors for 1,291 papers are still being computed (about 30 s left); results will improve."],
        suggestions=[SUGGESTION],
    )
    task: Literal["global", "local", "paragraph", "evidence"]
    query: Query
    notes: list[str] = Field(description="What the library lacks for better results, one line each.")
    suggestions: list[Suggestion]


class PaperPage(BaseModel):
    """One page of a list of papers, and the total number."""

    model_config = example(total=1, papers=[_PAPER])
    total: int
    papers: list[PaperSummary]


class PaperRecord(BaseModel):
    """The output of ``citewell show --json``."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    **_PAPER,
                    "abstract": "We count boats from photographs.",
                    "ids": ["doi:10.1000/harbour"],
                    "references": [{"ids": ["doi:10.1000/piers"], "title": "", "year": None, "authors": []}],
                    "cited_by": [],
                }
            ]
        },
    )
    id: str
    title: str
    abstract: str
    authors: list[str]
    year: int | None
    venue: str
    ids: list[str]
    references: list[dict[str, Any]]
    cited_by: list[PaperSummary]


class Related(BaseModel):
    """The papers that are most similar to one paper."""

    model_config = example(id="doi:10.1000/gulls", notes=[], suggestions=[SUGGESTION])
    id: str
    notes: list[str] = Field(description="What the library lacks for better results, one line each.")
    suggestions: list[Suggestion]


class JobCreated(BaseModel):
    """The id of a new job."""

    model_config = example(job="20260102-030405-1a2b3c4d")
    job: str


class Job(BaseModel):
    """The progress of a background job."""

    model_config = example(
        id="20260102-030405-1a2b3c4d",
        kind="add",
        state="done",
        done=1000,
        total=1000,
        message="4 papers read: 4 new",
        result={"files": 1, "papers": 4, "new_papers": 4, "contexts": 2, "skipped": 0, "problems": []},
    )
    id: str
    kind: str
    state: Literal["waiting", "running", "done", "failed"]
    done: int
    total: int
    message: str
    result: dict[str, Any] | None
