"""The JSON bodies of requests and responses about manuscripts, each with an example."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from citewell.draft.registry import formats
from citewell.serve.schemas import Name, example

_TEXT = "Counting boats\n\nBoats were first counted from photographs [?]."


def _known_format(name: str) -> str:
    if name and name not in formats():
        raise ValueError(f"choose one of {', '.join(formats())}")
    return name


DraftFormat = Annotated[str, AfterValidator(_known_format), WithJsonSchema({"type": "string", "enum": ["", *formats()]})]
"""The name of a draft format, one of citewell's own or of a plug-in."""


# -- requests -----------------------------------------------------------------------------------------------------------


class DraftRequest(BaseModel):
    """A manuscript as text."""

    model_config = example(text=_TEXT, format="text")
    text: str = Field(max_length=2_000_000)
    format: DraftFormat = Field("", description="Empty: detected from the text.")
    bibliography: str = Field("", max_length=2_000_000, description="The text of its .bib file.")


class Choice(BaseModel):
    """The papers to cite at one place."""

    model_config = ConfigDict(extra="forbid")
    begin: int = Field(ge=0, description="The position in the text, in code points.")
    end: int = Field(ge=0)
    ids: list[Name] = Field(min_length=1, max_length=50)


class AcceptRequest(DraftRequest):
    """A manuscript, and the papers to cite in it."""

    model_config = example(text=_TEXT, format="markdown", choices=[{"begin": 58, "end": 61, "ids": ["doi:10.1000/harbour"]}])
    choices: list[Choice] = Field(min_length=1, max_length=1_000)


# -- responses ----------------------------------------------------------------------------------------------------------


class DraftSentence(BaseModel):
    file: str = Field(description="The file of the project; empty for the main file.")
    begin: int = Field(description="The position in the text, in code points.")
    end: int
    text: str
    cited: bool


class Paragraph(BaseModel):
    file: str
    begin: int
    end: int
    section: str
    sentences: list[DraftSentence]


class Citation(BaseModel):
    """An in-text citation, or a gap: a place where a citation is missing."""

    file: str
    begin: int
    end: int
    line: int
    keys: list[str]
    papers: list[str] = Field(description="Ids of the library's papers that have these keys.")
    gap: bool
    context: str
    note: str


class BibliographyEntry(BaseModel):
    """An entry of the draft's bibliography."""

    key: str
    title: str
    authors: list[str]
    year: int | None
    id: str | None = Field(description="The id of the same paper in the library, if it is there.")


_GAP: dict[str, Any] = {
    "format": "text",
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
    "citations": [
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


class Draft(BaseModel):
    """The structure of a manuscript."""

    model_config = example(**_GAP)
    format: str
    title: str
    abstract: str
    authors: list[str]
    paragraphs: list[Paragraph]
    citations: list[Citation]
    bibliography: list[BibliographyEntry]


class DraftFile(Draft):
    model_config = example(**_GAP, text=_TEXT, files={})
    text: str = Field(description="The manuscript's text; for a Word file, the text extracted from it.")
    files: dict[str, str] = Field(description="The other files of a project that the manuscript includes, by name.")


class Finding(BaseModel):
    """A finding of a check; one about a sentence also has its `score` and `suggestions`, one about an entry its `key`."""

    model_config = ConfigDict(extra="allow")
    kind: str
    level: Literal["note", "warning", "error"]
    message: str
    file: str
    line: int
    begin: int
    end: int


class DraftOverview(BaseModel):
    """What was read of a draft."""

    model_config = example(
        format="text",
        title="Counting boats",
        abstract="",
        words=6,
        sentences=1,
        citations=0,
        cited_works=0,
        gaps=1,
        bibliography=0,
        languages={"en": 1},
    )
    format: str
    title: str
    abstract: str
    words: int
    sentences: int
    citations: int
    cited_works: int
    gaps: int
    bibliography: int
    languages: dict[str, int] = Field(description="The number of paragraphs in each language.")


class Findings(BaseModel):
    """The output of ``citewell check --json``."""

    model_config = example(
        draft="",
        read={
            "format": "text",
            "title": "Counting boats",
            "abstract": "",
            "words": 6,
            "sentences": 1,
            "citations": 1,
            "cited_works": 1,
            "gaps": 0,
            "bibliography": 0,
            "languages": {"en": 1},
        },
        judged=1,
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
    read: DraftOverview
    judged: int | None = Field(description="How many sentences were judged; null where uncited claims were not looked for.")
    counts: dict[str, int]
    findings: list[Finding]
    notes: list[str] = Field(description="What could not be checked, and why.")


class AcceptedDraft(BaseModel):
    """A manuscript with citations inserted."""

    model_config = example(
        text="Counting boats\n\nBoats were first counted from photographs [@holt2015counting].",
        bibliography="@article{holt2015counting,\n  title = {Counting boats in the harbour}\n}\n",
        keys={"doi:10.1000/harbour": "holt2015counting"},
    )
    text: str
    bibliography: str
    keys: dict[str, str] = Field(description="The citation key of each chosen id.")
