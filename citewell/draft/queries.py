"""From a draft to the questions that it puts to the library.

There is one for the manuscript as a whole, one for each gap, and one for each paragraph that has begun with a topic sentence
and cites nothing. What the draft cites already steers the ranking and is not suggested again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.draft.flow import unmarked
from citewell.draft.gaps import wanted
from citewell.papers import TARGET_MARK, Draft, Paragraph, Place, Query, Slot

TASKS = ("global", "local", "paragraph")
_TOPIC_WORDS = 6
"""A topic sentence has so many words or more: "See below." begins nothing."""
_ENDS = '.?!:)"”’'
"""What a sentence ends with, other than a heading or an address."""
_UNCITED = re.compile(
    r"\W*(?:\d[\d.]*\s*)?(?:acknowledge?ments?|references|bibliography|(?:author|credit) .*(?:contributions?|statement)"
    r"|funding|(?:data|code|software) (?:and code )?availab\w+.*|(?:competing|conflicts? of) interests?.*|declarations?"
    r"|appendix|supplement\w*|abbreviations|keywords)\W*",
    re.IGNORECASE,
)
"""Sections in which a paragraph without a citation lacks none."""
_ABOUT_WORDS = 250
"""So much of the text stands for the abstract where there is none."""


@dataclass(slots=True)
class Asked:
    """One question of a draft, and what of it is asked about."""

    query: Query
    slot: Slot | None = None
    """The gap, of a local query."""
    paragraph: Paragraph | None = None
    """The paragraph, of a paragraph query."""

    @property
    def place(self) -> Place | None:
        """Where in the draft; None for the manuscript as a whole."""
        if self.slot is not None:
            return self.slot.place
        return self.paragraph.sentences[0].place if self.paragraph is not None else None


def of_draft(draft: Draft, known: Sequence[str] = (), task: str | None = None) -> list[Asked]:
    """What the draft asks, or only what `task` names; `known` are the library's papers that it cites already."""
    asked = []
    if task in (None, "global") and (draft.title or about(draft)):
        asked.append(Asked(_query("global", draft, known)))
    if task in (None, "local"):
        asked += [Asked(_query("local", draft, known, asking(slot)), slot=slot) for slot in draft.slots if slot.gap]
    if task in (None, "paragraph"):
        begun = (each for each in draft.paragraphs if is_begun(each))
        asked += [Asked(_query("paragraph", draft, known, each.sentences[0].text), paragraph=each) for each in begun]
    return asked


def asking(slot: Slot) -> str:
    """The context of a slot, with what its note names, as if the author had written it before the gap."""
    named = wanted(slot.note)
    return slot.context.replace(TARGET_MARK, f"{named} {TARGET_MARK}", 1) if named else slot.context


def is_begun(paragraph: Paragraph) -> bool:
    """Whether a paragraph has a topic sentence, neither a citation nor a gap, and stands where citations may be wanted."""
    if not paragraph.sentences or any(sentence.cited for sentence in paragraph.sentences):
        return False
    topic = paragraph.sentences[0].text
    return len(topic.split()) >= _TOPIC_WORDS and topic[-1] in _ENDS and not wants_none(paragraph.section)


def wants_none(section: str) -> bool:
    """Whether a section is one in which nobody cites, by its heading."""
    return bool(_UNCITED.fullmatch(section))


def about(draft: Draft) -> str:
    """The abstract, or where there is none the beginning of the text."""
    if draft.abstract:
        return draft.abstract
    words: list[str] = []
    for paragraph in draft.paragraphs:
        words += unmarked(paragraph.text).split()
        if len(words) >= _ABOUT_WORDS:
            break
    return " ".join(words[:_ABOUT_WORDS])


def _query(task: str, draft: Draft, known: Sequence[str], context: str = "") -> Query:
    return Query(task, draft.title, about(draft), context, authors=list(draft.authors), known=list(known), only_new=True)
