"""The plain records that every part of citewell speaks in.

Readers make them, the library keeps them, rankings point at them. They hold data and no behaviour: what can be done with a
paper lives in the module that does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

TARGET_MARK = "TARGETCIT"
OTHER_MARK = "OTHERCIT"


@dataclass(slots=True)
class Reference:
    """A cited work as the citing source names it: by ids, by title and year, or by both."""

    ids: list[str] = field(default_factory=list)
    """Canonical identifiers, such as ``doi:10.1000/182`` (see `citewell.identifiers`)."""
    title: str = ""
    year: int | None = None
    authors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Sentence:
    """One sentence of a full text."""

    text: str
    section: str = ""


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
    """The source's own name for this context; tells apart contexts with the same text."""


@dataclass(slots=True)
class Paper:
    """A paper as one source describes it, or as the library knows it after merging."""

    title: str = ""
    abstract: str = ""
    authors: list[str] = field(default_factory=list)
    """Full names as a reader would write them: given names first."""
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


@dataclass(slots=True)
class Problem:
    """A record that could not be taken, and why."""

    reason: str
    line: int | None = None


@dataclass(slots=True)
class Query:
    """One question to the library."""

    task: str = "global"
    """``global``, ``local``, ``paragraph`` or ``evidence``."""
    title: str = ""
    abstract: str = ""
    context: str = ""
    """For the local task the text round the gap; for the paragraph task the topic sentence; for evidence the question."""
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

    def text(self) -> str:
        """What retrieval by words goes by: the parts of the task, the most specific first."""
        parts = (self.context, self.title) if self.task == "local" else (self.context, self.title, self.abstract)
        return "\n".join(part for part in parts if part)


class Ranking(NamedTuple):
    """Papers (by library number) and their scores, best first."""

    papers: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


@dataclass(slots=True)
class Reason:
    """Why a paper is suggested, as a sentence for people and as data for programs."""

    kind: str
    """``words``, ``citations`` ..."""
    text: str
    data: list[str] = field(default_factory=list)
    """The words that matched, the ids of the papers that cite it ..."""


@dataclass(slots=True)
class Suggestion:
    """One ranked paper as a person sees it."""

    rank: int
    paper: Paper
    score: float
    reasons: list[Reason]


@dataclass(slots=True)
class Place:
    """Where something stands in the source of a draft: ``draft.sources[file][begin:end]``."""

    file: str = ""
    """The file as the draft names it; empty for the main one."""
    begin: int = 0
    """Characters (code points) into the text of that file, its line ends as they are."""
    end: int = 0
    line: int = 1
    """The line of `begin`, counted from 1."""


@dataclass(slots=True)
class DraftSentence:
    """One sentence of a draft."""

    text: str
    """As a person reads it, every citation and gap as `OTHER_MARK`."""
    place: Place
    cited: bool = False
    """Whether a citation or a gap stands in it; one that is typed as text, such as "Berg (1931)" or "[3]", counts here too."""


@dataclass(slots=True)
class Paragraph:
    """One paragraph of a draft's running text."""

    text: str
    """As a person reads it, every citation and gap as `OTHER_MARK`."""
    place: Place
    section: str = ""
    """The heading that it stands under."""
    sentences: list[DraftSentence] = field(default_factory=list)


@dataclass(slots=True)
class Slot:
    """A place in a draft where a citation is wanted or stands."""

    context: str
    """The text round it; the place itself is `TARGET_MARK`, other citations are `OTHER_MARK`."""
    place: Place
    keys: list[str] = field(default_factory=list)
    """What is cited there; empty for a gap."""
    note: str = ""
    """What the author wrote to themselves at a gap: the words of a ``\\todo`` or of a comment."""

    @property
    def gap(self) -> bool:
        """Whether a citation is wanted here and none stands."""
        return not self.keys


@dataclass(slots=True)
class Draft:
    """What the user is writing."""

    title: str = ""
    abstract: str = ""
    authors: list[str] = field(default_factory=list)
    form: str = "text"
    """``latex``, ``markdown``, ``docx`` or ``text``."""
    paragraphs: list[Paragraph] = field(default_factory=list)
    """Running text, captions and notes, without the abstract and without headings."""
    slots: list[Slot] = field(default_factory=list)
    """Gaps and citations, in reading order; also those of the abstract, of headings and of tables."""
    bibliography: dict[str, Paper] = field(default_factory=dict)
    """What the keys stand for, as the draft's own bibliography says."""
    entries: dict[str, Place] = field(default_factory=dict)
    """Where those of the bibliography's entries stand that a file of `sources` holds."""
    listed: list[str] = field(default_factory=list)
    """Keys that the draft lists without citing them anywhere, as ``\\nocite`` does; ``*`` means all."""
    missing: list[str] = field(default_factory=list)
    """Files that it names and that could not be opened."""
    sources: dict[str, str] = field(default_factory=dict)
    """The text of each file that was read, bibliographies included; of a Word file, what the reader made of it."""
