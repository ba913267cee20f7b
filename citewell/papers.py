"""The plain records that all parts of citewell use.

Readers make them, the library keeps them, rankings point at them. They have data and no behaviour: what can be done with a
paper lives in the module that does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from citewell.errors import CitewellError

TASKS = ("global", "local", "paragraph", "evidence")
TARGET_MARK = "TARGETCIT"
OTHER_MARK = "OTHERCIT"


class Name(NamedTuple):
    """The name of a person in its parts, or of an organisation as one `literal`.

    `citewell.text.names` makes names of text, or of parts that a source has separated; only a `literal` contains commas.
    """

    given: str = ""
    family: str = ""
    particle: str = ""
    """Words before the family name that are not sorted by, such as ``van der``."""
    suffix: str = ""
    """``Jr.``, ``III`` ..."""
    literal: str = ""
    """The whole name, where it has no parts; `OTHERS` stands for the names that an open list leaves out."""

    def __str__(self) -> str:
        """The readable form, given names first."""
        given, family, particle, suffix, literal = self
        if literal:
            return "et al." if literal == "others" else literal
        if not particle and not suffix:
            return f"{given} {family}" if given else family
        return " ".join(filter(None, (given, particle, family, suffix)))


OTHERS = Name(literal="others")
"""The end of an open list: ``and others``, "et al."; it is shown and exported, and it is not an author."""


@dataclass(slots=True)
class Reference:
    """A cited work as the citing source names it: by ids, by title and year, or by both."""

    ids: list[str] = field(default_factory=list)
    """Canonical identifiers, such as ``doi:10.1000/182`` (see `citewell.identifiers`)."""
    title: str = ""
    year: int | None = None
    authors: list[str] = field(default_factory=list)
    """Readable names, given names first: a reference is matched and shown, and never written to a bibliography."""


@dataclass(slots=True)
class Sentence:
    """One sentence of a full text."""

    text: str
    section: str = ""
    paragraph: int = 0
    """The number of its paragraph in the full text, counted from 1; 0 where the source has no paragraphs."""


@dataclass(slots=True)
class Context:
    """Text round a citation; the place itself is `TARGET_MARK`, other citations are `OTHER_MARK`."""

    text: str
    cited: list[Reference]
    """The works that the marked place cites."""
    citing: str = ""
    """Canonical id of the citing paper; empty where the context is attached to its `Paper`."""
    section: str = ""
    id: str = ""
    """The source's own name for this context; it distinguishes contexts with the same text."""


@dataclass(slots=True)
class Verbatim:
    """A record exactly as its file has it."""

    text: str
    lead: str = ""
    """What the file has between the previous record and this one: comments, abbreviations, records that cannot be read."""
    position: int = 0
    """The place of the record in the file, counted from 0."""


@dataclass(slots=True)
class Remainder:
    """What a file has after its last record."""

    text: str


@dataclass(slots=True)
class Paper:
    """A paper as one source describes it, or as the library knows it after merging."""

    title: str = ""
    abstract: str = ""
    authors: list[Name] = field(default_factory=list)
    year: int | None = None
    date: str = ""
    """ISO date (``2020``, ``2020-05`` or ``2020-05-17``) where the source knows more than the year."""
    venue: str = ""
    ids: list[str] = field(default_factory=list)
    """Canonical identifiers; any one that two records share makes them the same paper."""
    id: str = ""
    """The name the paper goes by; empty lets the library choose the best of `ids`."""
    keywords: list[str] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    """What this paper says where it cites others; only full-text sources have them."""
    extra: dict[str, str] = field(default_factory=dict)
    """Further bibliographic fields under their CSL-like names: type, volume, issue, pages, publisher, url, citekey ..."""
    people: dict[str, list[Name]] = field(default_factory=dict)
    """Everybody else by role, under CSL's names: editor, translator, collection-editor, container-author ..."""
    verbatim: Verbatim | None = field(default=None, compare=False)
    """The record as the file has it, from readers that keep it."""


@dataclass(slots=True)
class Problem:
    """A record that could not be taken, and why."""

    reason: str
    line: int | None = None
    damaged: bool = True
    """Whether the record could not be read; False for one that was read and has too little to be of use."""


@dataclass(slots=True)
class Query:
    """One query to the library."""

    task: str = "global"
    """``global``, ``local``, ``paragraph`` or ``evidence``."""
    title: str = ""
    abstract: str = ""
    context: str = ""
    """Local task: the text around the gap. Paragraph task: the topic sentence. Evidence task: the question or claim."""
    authors: list[str] = field(default_factory=list)
    """Who writes the draft, where that is known: people cite themselves and each other."""
    since: int | None = None
    """Only papers of this year or later."""
    before: int | None = None
    """Only papers from before this year."""
    venue: str = ""
    """Only papers whose venue contains this."""
    exclude: list[str] = field(default_factory=list)
    """Papers that must not be suggested: the draft itself, what it cites already."""
    known: list[str] = field(default_factory=list)
    """Papers that the draft cites elsewhere: they tell what it is about, and may be suggested unless `only_new`."""
    only_new: bool = False
    """Whether the `known` are left out. Unlike the excluded they still count for what they say and whom they cite."""

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise CitewellError(f"There is no task {self.task!r}. Choose one of {', '.join(TASKS)}.")

    def text(self) -> str:
        """What retrieval by words goes by: the parts of the task, the most specific first."""
        parts = (self.context, self.title) if self.task == "local" else (self.context, self.title, self.abstract)
        return "\n".join(part for part in parts if part)


class Ranking(NamedTuple):
    """Papers (by number) and their scores, best first."""

    papers: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    trace: Any = None
    """What the stage that made it recorded on the way, for explanations and quoted sentences."""

    @classmethod
    def empty(cls, trace: Any = None) -> Ranking:
        """A ranking of no paper."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.float32), trace)

    def top(self, k: int) -> Ranking:
        """The first `k` papers."""
        return Ranking(self.papers[:k], self.scores[:k], self.trace)


@dataclass(slots=True)
class Reason:
    """Why a paper is suggested, as a sentence for people and as data for programs."""

    kind: str
    """``words``, ``citations`` ..."""
    text: str
    data: list[str] = field(default_factory=list)
    """The words that matched, the ids of the papers that cite it ..."""
    detail: bool = False
    """Whether it is for experts: numbers and features, shown only under ``--explain``."""


@dataclass(slots=True)
class QuotedSentence:
    """A sentence of a paper that bears on the query."""

    text: str
    section: str
    begin: int
    """Where it starts in the section, in characters."""
    end: int
    score: float
    words: list[str]
    """The words of the sentence that the query has too."""
    before: str = ""
    """The sentence before it in the same section, where there is one."""
    after: str = ""
    """The sentence after it."""


@dataclass(slots=True)
class Suggestion:
    """One ranked paper as a person sees it."""

    rank: int
    paper: Paper
    score: float
    reasons: list[Reason]
    """Why it is suggested, the most telling first."""
    sentences: list[QuotedSentence] = field(default_factory=list)
    """Its sentences that bear most on the query, the best first."""


@dataclass(slots=True)
class Place:
    """A span of a draft's source: ``draft.sources[file][begin:end]``."""

    file: str = ""
    """The file as the draft names it; empty for the main file."""
    begin: int = 0
    """Offset into the text of that file, in characters (code points); line ends count as they are in the file."""
    end: int = 0
    line: int = 1
    """The line of `begin`, counted from 1."""


@dataclass(slots=True)
class DraftSentence:
    """One sentence of a draft."""

    text: str
    """The text without mark-up; every citation and gap is `OTHER_MARK`."""
    place: Place
    cited: bool = False
    """Whether it contains a citation or a gap. A citation typed as text, such as "Berg (1931)" or "[3]", counts too."""


@dataclass(slots=True)
class Paragraph:
    """One paragraph of a draft's running text."""

    text: str
    """The text without mark-up; every citation and gap is `OTHER_MARK`."""
    place: Place
    section: str = ""
    """The heading of its section."""
    sentences: list[DraftSentence] = field(default_factory=list)


@dataclass(slots=True)
class Citation:
    """An in-text citation of a draft, or a gap: a place where the author marked that a citation is missing."""

    context: str
    """The text around it; the place itself is `TARGET_MARK`, other citations are `OTHER_MARK`."""
    place: Place
    keys: list[str] = field(default_factory=list)
    """The citation keys; empty for a gap."""
    note: str = ""
    """For a gap, the author's note about what is missing: the text of a ``\\todo`` or of a comment."""

    @property
    def is_gap(self) -> bool:
        """Whether the citation is missing here."""
        return not self.keys


@dataclass(slots=True)
class Draft:
    """A manuscript that the user is writing."""

    title: str = ""
    abstract: str = ""
    authors: list[str] = field(default_factory=list)
    format: str = "text"
    """The name of the reader, such as ``latex``, ``markdown``, ``typst``, ``docx`` or ``text``, or that of a plug-in."""
    paragraphs: list[Paragraph] = field(default_factory=list)
    """Running text, captions and notes, without the abstract and without headings."""
    citations: list[Citation] = field(default_factory=list)
    """Citations and gaps in reading order, including those in the abstract, in headings and in tables."""
    bibliography: dict[str, Paper] = field(default_factory=dict)
    """The works in the draft's own bibliography, by key."""
    entries: dict[str, Place] = field(default_factory=dict)
    """Where each bibliography entry is, for entries in a file of `sources`."""
    listed: list[str] = field(default_factory=list)
    """Keys that the draft lists without citing them, as ``\\nocite`` does; ``*`` means all."""
    missing: list[str] = field(default_factory=list)
    """Files that the draft names and that could not be opened."""
    notes: list[str] = field(default_factory=list)
    """What else the reader could not read or know, one line each."""
    sources: dict[str, str] = field(default_factory=dict)
    """The text of each file that was read, including bibliographies; for a Word file, the Markdown made from it."""

    @property
    def gaps(self) -> list[Citation]:
        """The places where a citation is missing, in reading order."""
        return [citation for citation in self.citations if citation.is_gap]

    @property
    def cited_keys(self) -> list[str]:
        """The keys that the draft cites, each once, in reading order."""
        return list(dict.fromkeys(key for citation in self.citations for key in citation.keys))
