"""Makes queries from a draft.

There is one query for the whole manuscript, one for each gap, and one for each paragraph that has a topic sentence but no
citation. The papers that the draft cites influence the ranking and are not suggested again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.draft.builder import without_marks
from citewell.draft.gaps import named_work
from citewell.draft.sections import is_uncited
from citewell.papers import TARGET_MARK, Citation, Draft, Paragraph, Place, Query

TASKS = ("global", "local", "paragraph")
_MIN_TOPIC_WORDS = 6
"""A shorter first sentence, such as "See below.", is not a topic sentence."""
_SENTENCE_ENDS = '.?!:)"”’'
"""The last character of a sentence; headings and addresses end in others."""
_OPENING_WORDS = 250
"""Length of the opening that stands in for a missing abstract."""


@dataclass(slots=True)
class DraftQuery:
    """A query, and the part of the draft it is for: a gap, a paragraph, or (both None) the whole manuscript."""

    query: Query
    gap: Citation | None = None
    """The gap of a local query."""
    number: int = 0
    """The number of the gap, counted from 1."""
    paragraph: Paragraph | None = None
    """The paragraph of a paragraph query."""

    @property
    def place(self) -> Place | None:
        """The place in the draft; None for the whole manuscript."""
        if self.gap is not None:
            return self.gap.place
        return self.paragraph.sentences[0].place if self.paragraph is not None else None


def draft_queries(draft: Draft, known: Sequence[str] = (), task: str | None = None) -> list[DraftQuery]:
    """The queries of a draft, or only those of one task; `known` are ids of the library's papers that the draft cites."""
    queries = []
    if task in (None, "global") and (draft.title or abstract_or_opening(draft)):
        queries.append(DraftQuery(_query("global", draft, known)))
    if task in (None, "local"):
        for number, gap in enumerate(draft.gaps, 1):
            queries.append(DraftQuery(_query("local", draft, known, query_context(gap)), gap=gap, number=number))
    if task in (None, "paragraph"):
        for paragraph in draft.paragraphs:
            if needs_citations(paragraph):
                query = _query("paragraph", draft, known, paragraph.sentences[0].text)
                queries.append(DraftQuery(query, paragraph=paragraph))
    return queries


def query_context(citation: Citation) -> str:
    """The context of a citation; the work that a gap's note names is put before the gap."""
    name = named_work(citation.note)
    return citation.context.replace(TARGET_MARK, f"{name} {TARGET_MARK}", 1) if name else citation.context


def needs_citations(paragraph: Paragraph) -> bool:
    """Whether a paragraph has a topic sentence but no citation or gap, in a section that usually has citations."""
    if not paragraph.sentences or any(sentence.cited for sentence in paragraph.sentences):
        return False
    topic = paragraph.sentences[0].text
    is_topic = len(topic.split()) >= _MIN_TOPIC_WORDS and topic[-1] in _SENTENCE_ENDS
    return is_topic and not is_uncited(paragraph)


def abstract_or_opening(draft: Draft) -> str:
    """The abstract, or the beginning of the text where there is none."""
    if draft.abstract:
        return draft.abstract
    words: list[str] = []
    for paragraph in draft.paragraphs:
        words += without_marks(paragraph.text).split()
        if len(words) >= _OPENING_WORDS:
            break
    return " ".join(words[:_OPENING_WORDS])


def _query(task: str, draft: Draft, known: Sequence[str], context: str = "") -> Query:
    abstract = abstract_or_opening(draft)
    return Query(task, draft.title, abstract, context, authors=list(draft.authors), known=list(known), only_new=True)
