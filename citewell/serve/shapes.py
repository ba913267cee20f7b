"""The bodies that are taken and given, as the OpenAPI description has them, each with an example.

What is taken is checked against them. What is given is made by `citewell.answers`, which the commands use too; tests hold it
against these shapes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.pipeline import DEFAULT

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
_SUGGESTION = {"rank": 1, **_PAPER, "score": 7.25, "reasons": [_REASON]}
_TEXT = "Counting boats\n\nBoats were first counted from photographs [?]."


def _example(**example: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})


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

    model_config = _example(
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

    model_config = _example(question="do gulls disturb the counting of boats?", k=5, snippets=2, pipeline="fast")
    question: str = Field(min_length=1, max_length=5_000)
    snippets: int = Field(2, ge=0, le=20, description="How many sentences of each paper.")


class ExportBody(BaseModel):
    """Some papers, and the format of the file."""

    model_config = _example(ids=["doi:10.1000/harbour"], format="bibtex")
    ids: list[Name] = Field(min_length=1, max_length=5_000)
    format: Literal["bibtex", "ris", "csl", "jsonl"] = "bibtex"


class DraftBody(BaseModel):
    """A manuscript as text."""

    model_config = _example(text=_TEXT, form="text")
    text: str = Field(max_length=2_000_000)
    form: Literal["", "latex", "markdown", "docx", "text"] = Field("", description="Empty: found by the text itself.")
    bibliography: str = Field("", max_length=2_000_000, description="The text of its .bib file.")


class Choice(BaseModel):
    """What to cite at one place."""

    model_config = ConfigDict(extra="forbid")
    begin: int = Field(ge=0, description="The place in the text, in code points.")
    end: int = Field(ge=0)
    ids: list[Name] = Field(min_length=1, max_length=50)


class AcceptBody(DraftBody):
    """A manuscript, and what to cite where."""

    model_config = _example(text=_TEXT, form="markdown", choices=[{"begin": 58, "end": 61, "ids": ["doi:10.1000/harbour"]}])
    choices: list[Choice] = Field(min_length=1, max_length=1_000)


# -- what is given ------------------------------------------------------------------------------------------------------


class Refusal(BaseModel):
    """Why a request got no answer, and the fix."""

    model_config = _example(detail="there is no pipeline 'nope'; 'citewell pipelines' lists them")
    detail: str


class Health(BaseModel):
    model_config = _example(status="ok", version="0.1.0", papers=27525)
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

    model_config = _example(**_PAPER)
    id: str
    title: str
    authors: list[str]
    year: int | None
    venue: str


class ReasonShape(BaseModel):
    """Why a paper is suggested."""

    model_config = _example(**_REASON)
    kind: str
    text: str
    data: list[str]


class SuggestionShape(Brief):
    model_config = _example(**_SUGGESTION)
    rank: int
    score: float
    reasons: list[ReasonShape]


class QueryShape(BaseModel):
    title: str
    abstract: str
    context: str


class Suggestions(BaseModel):
    """What ``citewell suggest --json`` says."""

    model_config = _example(
        task="local",
        query={"title": "Boats and gulls", "abstract": "", "context": "Boats were counted TARGETCIT."},
        suggestions=[_SUGGESTION],
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

    model_config = _example(
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

    model_config = _example(total=1, papers=[_PAPER])
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

    model_config = _example(id="doi:10.1000/gulls", suggestions=[_SUGGESTION])
    id: str
    suggestions: list[SuggestionShape]


class Accepted(BaseModel):
    """The job that was begun."""

    model_config = _example(job="20260102-030405-1a2b3c4d")
    job: str


class Job(BaseModel):
    """How far something that takes long has come."""

    model_config = _example(
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


class SentenceShape(BaseModel):
    file: str = Field(description="The file of the project that it stands in; empty for the main one.")
    begin: int = Field(description="Code points into the text.")
    end: int
    text: str
    cited: bool


class ParagraphShape(BaseModel):
    file: str
    begin: int
    end: int
    section: str
    sentences: list[SentenceShape]


class SlotShape(BaseModel):
    """A place where a citation is wanted or stands."""

    file: str
    begin: int
    end: int
    line: int
    keys: list[str]
    papers: list[str] = Field(description="Ids of the library's papers that the keys mean.")
    gap: bool
    context: str
    note: str


class EntryShape(BaseModel):
    """An entry of the draft's bibliography."""

    key: str
    title: str
    authors: list[str]
    year: int | None
    id: str | None = Field(description="Of the library's paper that it is, where there is one.")


_GAP: dict[str, Any] = {
    "form": "text",
    "title": "Counting boats",
    "abstract": "",
    "authors": [],
    "paragraphs": [
        {
            "file": "",
            "begin": 16,
            "end": 62,
            "section": "",
            "sentences": [
                {
                    "file": "",
                    "begin": 16,
                    "end": 62,
                    "text": "Boats were first counted from photographs OTHERCIT.",
                    "cited": True,
                }
            ],
        }
    ],
    "slots": [
        {
            "file": "",
            "begin": 58,
            "end": 61,
            "line": 3,
            "keys": [],
            "papers": [],
            "gap": True,
            "context": "Boats were first counted from photographs TARGETCIT.",
            "note": "",
        }
    ],
    "bibliography": [],
}


class DraftShape(BaseModel):
    """What stands where in a manuscript."""

    model_config = _example(**_GAP)
    form: Literal["latex", "markdown", "docx", "text"]
    title: str
    abstract: str
    authors: list[str]
    paragraphs: list[ParagraphShape]
    slots: list[SlotShape]
    bibliography: list[EntryShape]


class DraftFileShape(DraftShape):
    model_config = _example(**_GAP, text=_TEXT, files={})
    text: str = Field(description="The manuscript's text; of a Word file, what was made of it.")
    files: dict[str, str] = Field(description="Further files of a project that the manuscript takes in, by their names.")


class Finding(BaseModel):
    """Something that a check has found; of a sentence also its `score` and `suggestions`, of an entry its `key`."""

    model_config = ConfigDict(extra="allow")
    kind: str
    level: Literal["note", "warning", "error"]
    message: str
    file: str
    line: int
    begin: int
    end: int


class Findings(BaseModel):
    """What ``citewell check --json`` says."""

    model_config = _example(
        draft="",
        counts={"uncited-claim": 0, "missing-key": 1, "duplicate-entry": 0, "disagrees": 0, "never-cited": 0},
        findings=[
            {
                "kind": "missing-key",
                "level": "error",
                "message": "no entry of the bibliography is called 'holt2015'",
                "file": "",
                "line": 3,
                "begin": 58,
                "end": 69,
                "key": "holt2015",
            }
        ],
        notes=[],
    )
    draft: str
    counts: dict[str, int]
    findings: list[Finding]
    notes: list[str] = Field(description="What could not be checked, and why.")


class AcceptedShape(BaseModel):
    """A manuscript with citations in it."""

    model_config = _example(
        text="Counting boats\n\nBoats were first counted from photographs [@holt2015counting].",
        bibliography="@article{holt2015counting,\n  title = {Counting boats in the harbour}\n}\n",
        keys={"doi:10.1000/harbour": "holt2015counting"},
    )
    text: str
    bibliography: str
    keys: dict[str, str] = Field(description="The citation key of each paper, by the id that was chosen.")
