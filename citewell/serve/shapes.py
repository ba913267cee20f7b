"""The bodies that are taken and given, as the OpenAPI description has them, each with an example.

What is taken is checked against them. What is given is made by `citewell.serialize`, which the commands use too; tests hold it
against these shapes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.pipeline.pipeline import DEFAULT

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Names = Annotated[list[Name], Field(max_length=500)]
Year = Annotated[int, Field(ge=0, le=9999)]
_NAME = Field(DEFAULT, min_length=1, max_length=100, description="One of GET /api/pipelines; 'fast' answers while one types.")

_PAPER: dict[str, Any] = {
    "id": "doi:10.1000/harbour",
    "title": "Counting boats in the harbour",
    "authors": ["Mira Holt", "Jon Pike"],
    "year": 2015,
    "venue": "Journal of Harbours",
}
_REASON = {"kind": "words", "text": "matches boats, photographs", "data": ["boats", "photographs"]}
SUGGESTION = {"rank": 1, **_PAPER, "score": 7.25, "reasons": [_REASON]}


def example(**shown: Any) -> ConfigDict:
    """Nothing but what is named is taken, and this is how it may look."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [shown]})


# -- what is taken ------------------------------------------------------------------------------------------------------


class Filters(BaseModel):
    """Which papers count."""

    since: Year | None = Field(None, description="Only papers of this year or later.")
    before: Year | None = Field(None, description="Only papers from before this year.")
    venue: str = Field("", max_length=500, description="Only papers whose venue contains this.")
    exclude: Names = Field(default_factory=list, description="Ids of papers to leave out.")
    k: int = Field(10, ge=1, le=200, description="How many papers.")
    pipeline: str = _NAME


class SuggestBody(Filters):
    """What is being written, and where a citation is wanted."""

    model_config = example(
        title="Boats and gulls", context="Boats were first counted from photographs [?].", k=5, pipeline="fast"
    )
    task: Literal["", "global", "local", "paragraph"] = Field("", description="Empty: local with a context, global without.")
    title: str = Field("", max_length=2_000)
    abstract: str = Field("", max_length=50_000)
    context: str = Field("", max_length=20_000, description="The text round a gap ([?] or TARGETCIT), or a topic sentence.")
    authors: Names = Field(default_factory=list, description="Who writes it.")
    known: Names = Field(
        default_factory=list, description="Ids of papers that the draft cites elsewhere: they steer the ranking."
    )
    only_new: bool = Field(False, description="Whether the known are left out of the suggestions.")


class SearchBody(Filters):
    """A question or a claim."""

    model_config = example(question="do gulls disturb the counting of boats?", k=5, snippets=2, pipeline="fast")
    question: str = Field(min_length=1, max_length=5_000)
    snippets: int = Field(2, ge=0, le=20, description="How many sentences of each paper.")


class ExportBody(BaseModel):
    """Some papers, and the format of the file."""

    model_config = example(ids=["doi:10.1000/harbour"], format="bibtex")
    ids: list[Name] = Field(min_length=1, max_length=5_000)
    format: Literal["bibtex", "ris", "csl", "jsonl"] = "bibtex"


# -- what is given ------------------------------------------------------------------------------------------------------


class Refusal(BaseModel):
    """Why a request got no answer, and the fix."""

    model_config = example(detail="there is no pipeline 'nope'; 'citewell pipelines' lists them")
    detail: str


class Health(BaseModel):
    model_config = example(status="ok", version="0.1.0", papers=27525)
    status: Literal["ok"]
    version: str
    papers: int


class LibraryInfo(BaseModel):
    """What ``citewell library info --json`` says, and the papers of each year."""

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
    folder: str = Field(description="Empty where the client is not on the same machine.")
    years: dict[str, int]


class PipelineInfo(BaseModel):
    """One named pipeline."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"name": "fast", "about": "What answers while typing", "lacks": []}]}
    )
    name: str
    about: str
    lacks: list[str] = Field(description="Weights that it needs and that are not there.")


class Brief(BaseModel):
    """A paper in a list."""

    model_config = example(**_PAPER)
    id: str
    title: str
    authors: list[str]
    year: int | None
    venue: str


class ReasonShape(BaseModel):
    """Why a paper is suggested."""

    model_config = example(**_REASON)
    kind: str
    text: str
    data: list[str]


class SuggestionShape(Brief):
    model_config = example(**SUGGESTION)
    rank: int
    score: float
    reasons: list[ReasonShape]


class QueryShape(BaseModel):
    title: str
    abstract: str
    context: str


class Suggestions(BaseModel):
    """What ``citewell suggest --json`` says."""

    model_config = example(
        task="local",
        query={"title": "Boats and gulls", "abstract": "", "context": "Boats were counted TARGETCIT."},
        suggestions=[SUGGESTION],
    )
    task: Literal["global", "local", "paragraph"]
    query: QueryShape
    suggestions: list[SuggestionShape]


class PassageShape(BaseModel):
    """A sentence that bears on the question."""

    text: str
    section: str
    begin: int
    end: int
    score: float
    words: list[str]
    before: str
    after: str


class FoundShape(Brief):
    rank: int
    score: float
    sentences: list[PassageShape]


class Search(BaseModel):
    """What ``citewell search --json`` says."""

    model_config = example(
        query="do gulls disturb the count?",
        papers=[
            {
                "rank": 1,
                **_PAPER,
                "score": 3.5,
                "sentences": [
                    {
                        "text": "We find that gulls disturb the count.",
                        "section": "abstract",
                        "begin": 45,
                        "end": 82,
                        "score": 2.5,
                        "words": ["gulls", "disturb", "count"],
                        "before": "We count boats from photographs of a harbour.",
                        "after": "",
                    }
                ],
            }
        ],
    )
    query: str
    papers: list[FoundShape]


class PaperPage(BaseModel):
    """Some of the papers of a list, and how many there are."""

    model_config = example(total=1, papers=[_PAPER])
    total: int
    papers: list[Brief]


class WholePaper(BaseModel):
    """What ``citewell show --json`` says."""

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
    cited_by: list[Brief]


class Related(BaseModel):
    """The papers nearest to one."""

    model_config = example(id="doi:10.1000/gulls", suggestions=[SUGGESTION])
    id: str
    suggestions: list[SuggestionShape]


class Accepted(BaseModel):
    """The job that was begun."""

    model_config = example(job="20260102-030405-1a2b3c4d")
    job: str


class Job(BaseModel):
    """How far something that takes long has come."""

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
