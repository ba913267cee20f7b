"""Cuts the queries of the paragraph task from the full texts of a library, after the rules of Medić's thesis.

A query is a paragraph of related work whose first sentence introduces a topic, with the papers that the rest of the paragraph
cites. The thesis takes every paragraph that cites and whose first sentence is a transition sentence; here,
`citewell.models.transitions` decides which are. Paragraphs whose first sentence cites are left out in addition, as the format
of sets requires.

The store has the sentences of each paragraph and the contexts of the paper's citations, but not which mark in a sentence is
which citation. A context is a piece of its paragraph, so its place is found by its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from citewell.errors import CitewellError
from citewell.library.store.store import Store
from citewell.models import transitions
from citewell.models.claims import section_kind
from citewell.papers import OTHER_MARK, TARGET_MARK, Sentence
from citewell.text.citation_removal import has_citation

RELATED_WORK, ALL = "related-work", "all"
SECTIONS = (RELATED_WORK, ALL)


@dataclass(frozen=True)
class ParagraphRules:
    """Which paragraphs become queries; the defaults are the thesis's."""

    sections: str = RELATED_WORK
    min_cited: int = 1
    """How many papers of the set the rest of the paragraph must cite."""
    transitions: bool = True
    """Whether the first sentence must be a transition sentence."""

    def __post_init__(self) -> None:
        if self.sections not in SECTIONS:
            raise CitewellError(f"there are no sections {self.sections!r}; choose one of {', '.join(SECTIONS)}")


DEFAULT_RULES = ParagraphRules()


@dataclass
class ParagraphsLeftOut:
    """How many paragraphs are not queries, each counted at the first rule that it breaks."""

    paragraphs_of_other_sections: int = 0
    paragraphs_with_few_citations: int = 0
    paragraphs_with_citing_first_sentence: int = 0
    paragraphs_without_transition_sentence: int = 0
    contexts_without_paragraph: int = 0
    """Contexts of papers with paragraphs whose text is in none of them, as after two sources of a paper were merged."""


@dataclass(frozen=True)
class TextParagraph:
    """A paragraph of a full text, with citations as marks."""

    sentences: list[str]
    section: str

    @property
    def text(self) -> str:
        return " ".join(self.sentences)


@dataclass(frozen=True)
class PlacedCitation:
    """A context: its text, and the papers that it cites."""

    text: str
    cited: frozenset[int]


@dataclass(frozen=True)
class ParagraphQuery:
    topic_sentence: str
    text: str
    """The rest of the paragraph."""
    section: str
    cited: list[int]


def paragraphs_of(sentences: Sequence[Sentence]) -> list[TextParagraph]:
    """The paragraphs of a full text, in order; sentences whose source has no paragraphs are left out."""
    runs = groupby(sentences, key=lambda each: (each.paragraph, each.section))
    return [TextParagraph([each.text for each in run], section) for (number, section), run in runs if number]


def paragraph_lines(
    store: Store,
    citing: Sequence[int],
    cited_by: Callable[[int], list[int]],
    names: Mapping[int, str],
    rules: ParagraphRules,
    left_out: ParagraphsLeftOut,
) -> Iterator[dict[str, Any]]:
    """The queries of some papers as lines of a set; only papers that are `cited_by` the citing one count as cited."""
    count = 0
    for num in citing:
        if not (paragraphs := paragraphs_of(store.sentences(num))):
            continue
        linked = set(cited_by(num))
        contexts = [PlacedCitation(each.text, each.cited & linked) for each in _contexts(store, num)]
        for query in paragraph_queries(paragraphs, contexts, rules, left_out):
            yield {
                "id": f"p{count}",
                "citing": names[num],
                "cited": [names[each] for each in query.cited],
                "topic_sentence": query.topic_sentence,
                "text": query.text,
                "section": query.section,
            }
            count += 1


def _contexts(store: Store, citing: int) -> Iterator[PlacedCitation]:
    rows = store.db.execute(
        "SELECT contexts.num, text, cited FROM contexts CROSS JOIN targets ON context = contexts.num"
        " WHERE contexts.citing = ? AND cited IS NOT NULL AND text <> '' ORDER BY contexts.num",
        (citing,),
    )
    for (_, text), targets in groupby(rows, key=lambda row: row[:2]):
        yield PlacedCitation(text, frozenset(row[2] for row in targets))


def paragraph_queries(
    paragraphs: Sequence[TextParagraph],
    contexts: Sequence[PlacedCitation],
    rules: ParagraphRules,
    left_out: ParagraphsLeftOut,
) -> Iterator[ParagraphQuery]:
    """The queries of one paper; counts what is left out."""
    cited, lost = place(paragraphs, contexts)
    left_out.contexts_without_paragraph += lost
    kept: list[ParagraphQuery] = []
    for paragraph, papers in zip(paragraphs, cited, strict=True):
        if rules.sections == RELATED_WORK and section_kind(paragraph.section) != "related work":
            left_out.paragraphs_of_other_sections += 1
        elif len(papers) < rules.min_cited:
            left_out.paragraphs_with_few_citations += 1
        elif has_citation(paragraph.sentences[0]):
            left_out.paragraphs_with_citing_first_sentence += 1
        else:
            rest = " ".join(paragraph.sentences[1:])
            kept.append(ParagraphQuery(paragraph.sentences[0], rest, paragraph.section, sorted(papers)))
    if rules.transitions and kept:
        selected = transitions.load().are_transitions([each.topic_sentence for each in kept]).tolist()
        left_out.paragraphs_without_transition_sentence += selected.count(False)
        kept = [each for each, is_transition in zip(kept, selected, strict=True) if is_transition]
    yield from kept


def place(paragraphs: Sequence[TextParagraph], contexts: Sequence[PlacedCitation]) -> tuple[list[set[int]], int]:
    """The papers that each paragraph cites after its first sentence, and the number of contexts that are in no paragraph."""
    texts = [paragraph.text for paragraph in paragraphs]
    cited: list[set[int]] = [set() for _ in paragraphs]
    lost = 0
    for context in contexts:
        mark = context.text.find(TARGET_MARK)
        plain = context.text.replace(TARGET_MARK, OTHER_MARK)
        number = next((at for at, text in enumerate(texts) if mark >= 0 and plain in text), None)
        if number is None:
            lost += 1
        elif texts[number].index(plain) + mark > len(paragraphs[number].sentences[0]):
            cited[number] |= context.cited
    return cited, lost
