"""Builds a `Draft` while a reader walks through the source text.

The reader writes the readable text of each paragraph into a `Block` and marks its citations and gaps. `DraftBuilder` splits
blocks into sentences, extracts the context of each citation and computes every place in the source.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field

from citewell.draft.source_text import SourceText
from citewell.papers import OTHER_MARK, Citation, Draft, DraftSentence, Paragraph, Place
from citewell.text.citation_contexts import MAX_CHARACTERS, CitationSpan, citation_contexts
from citewell.text.sentences import sentence_spans

_WORDS = re.compile(r"\s+|\S+")
_TYPED_CITATION = re.compile(
    r"\[\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3}){0,20}\]"  # [3, 5-7]
    r"|(?<![A-Z])[A-Z][\w'\u2019-]{1,60}+(?: et al\.)?,? \((?:18|19|20)\d\d[a-z]?\)"  # Berg (1931)
    r"|\([^()]{0,80}\b[A-Z][\w'\u2019-]{1,60}+(?: et al\.)?,? (?:18|19|20)\d\d[a-z]?\b[^()]{0,200}\)"  # (see Berg, 1931)
)
"""A citation typed as text, as in a manuscript without a reference manager."""
_AFTER_STOP = re.compile(
    rf"(?:(?<=[.!?])|(?<=[.!?][\"'\u201d\u2019)]))(?:{OTHER_MARK}(?=\s|$)| {OTHER_MARK}(?=$|\s+[\"'(\[\u201c]*[A-Z]))"
)
_MARK = re.compile(rf"\s*{OTHER_MARK}")


@dataclass(slots=True)
class _Mark:
    """A citation or gap in a block."""

    at: int
    """Offset in the readable text of the block."""
    begin: int
    end: int
    keys: list[str]
    note: str
    textual: bool


@dataclass(slots=True)
class Block:
    """A paragraph under construction: readable text, and for each character the span of the source text it comes from."""

    text: list[str] = field(default_factory=list)
    size: int = 0
    begins: array[int] = field(default_factory=lambda: array("i"))
    ends: array[int] = field(default_factory=lambda: array("i"))
    marks: list[_Mark] = field(default_factory=list)
    citations_only: bool = False
    """Whether its citations count but its text is not running text: tables, headings."""

    def copy(self, text: str, begin: int) -> None:
        """Add a text that is in the source text as it is, from `begin`."""
        for word in _WORDS.finditer(text):
            first, last = begin + word.start(), begin + word.end()
            if not word[0][0].isspace():
                self._add(word[0], range(first, last), range(first + 1, last + 1))
            elif self.size and self.text[-1] != " ":
                self._add(" ", [first], [last])

    def write(self, text: str, begin: int, end: int) -> None:
        """Add the readable form of ``source[begin:end]``, where that differs from the source."""
        for match in _WORDS.finditer(text):
            word = " " if match[0][0].isspace() else match[0]
            if word != " " or (self.size and self.text[-1] != " "):
                self._add(word, [begin] * len(word), [end] * len(word))

    def mark(self, begin: int, end: int, keys: Sequence[str], note: str = "", textual: bool = False) -> None:
        """Add a citation or a gap; a textual one is part of its sentence, as in "Färber and Jatowt (2020) survey"."""
        self.marks.append(_Mark(self.size, begin, end, list(keys), " ".join(note.split()), textual))
        self._add(OTHER_MARK, [begin] * len(OTHER_MARK), [end] * len(OTHER_MARK))

    def readable(self) -> str:
        """The text so far."""
        return "".join(self.text).rstrip()

    def _add(self, text: str, begins: Iterable[int], ends: Iterable[int]) -> None:
        self.text.append(text)
        self.size += len(text)
        self.begins.extend(begins)
        self.ends.extend(ends)


@dataclass
class DraftBuilder:
    """Collects the blocks of a draft; `build` returns the draft."""

    source: SourceText
    draft: Draft
    section: str = ""
    """The heading that following paragraphs belong to."""
    block: Block = field(default_factory=Block)
    """The current paragraph."""
    _context_characters: int = MAX_CHARACTERS
    """Characters that the contexts of further citations may have before they become short."""
    _citations: list[tuple[int, Citation]] = field(default_factory=list)
    _paragraphs: list[tuple[int, Paragraph]] = field(default_factory=list)

    def end_paragraph(self) -> Block:
        """Add the current block and begin a new one of the same kind."""
        block, self.block = self.block, Block(citations_only=self.block.citations_only)
        self.add(block)
        return block

    def add(self, block: Block) -> None:
        """Add the citations and gaps of a block, and its text as a paragraph unless the block is `citations_only`."""
        text = self.add_citations(block)
        if text and not block.citations_only:
            self._paragraphs.append((block.begins[0], self._paragraph(block, text)))

    def add_citations(self, block: Block) -> str:
        """Add only the citations and gaps of a block; returns its text."""
        text = block.readable()
        if text:
            spans: list[CitationSpan] = [(mark.at, mark.at + len(OTHER_MARK), []) for mark in block.marks]
            for context in citation_contexts(text, spans, max_characters=self._context_characters):
                self._context_characters = max(0, self._context_characters - len(context.text))
                mark = block.marks[int(context.id)]
                citation = Citation(context.text, self.source.place(mark.begin, mark.end), mark.keys, mark.note)
                self._citations.append((mark.begin, citation))
        return text

    def build(self) -> Draft:
        """The draft, with everything in reading order."""
        self.end_paragraph()
        draft = self.draft
        places = set()
        for _, citation in sorted(self._citations, key=lambda item: item[0]):
            # A macro may repeat its argument; the source has the citation once.
            if (place := astuple(citation.place)) not in places:
                places.add(place)
                draft.citations.append(citation)
        draft.paragraphs = [paragraph for _, paragraph in sorted(self._paragraphs, key=lambda item: item[0])]
        _mark_nested_citations(draft)
        draft.sources = self.source.sources
        return draft

    def _paragraph(self, block: Block, text: str) -> Paragraph:
        spans = [
            (begin, begin + len(text[begin:end].rstrip())) for begin, end in sentence_spans(_for_splitting(text, block.marks))
        ]
        marks = sorted(mark.at for mark in block.marks)
        sentences = []
        for begin, end in spans:
            if begin < end:
                has_mark = bisect_right(marks, end - 1) > bisect_right(marks, begin - 1)
                cited = has_mark or bool(_TYPED_CITATION.search(text, begin, end))
                sentences.append(DraftSentence(text[begin:end], self._place(block, begin, end), cited))
        return Paragraph(text, self._place(block, 0, len(text)), self.section, sentences)

    def _place(self, block: Block, begin: int, end: int) -> Place:
        """Where ``text[begin:end]`` of a block is in the sources."""
        return self.source.place(min(block.begins[begin:end]), max(block.ends[begin:end]))


def without_marks(text: str) -> str:
    """Readable text without citation marks."""
    return _MARK.sub("", text).strip()


def _for_splitting(text: str, marks: Sequence[_Mark]) -> str:
    """`text` for the sentence splitter: a citation right after a full stop looks like a bracket of the sentence before."""
    textual = {mark.at for mark in marks if mark.textual}
    return _AFTER_STOP.sub(lambda match: match[0] if match.end() - len(OTHER_MARK) in textual else "]" * len(match[0]), text)


def _mark_nested_citations(draft: Draft) -> None:
    """Count a sentence as cited where the citation is in a note or list inside it, or in a note directly after it."""
    begins: dict[str, list[int]] = {}
    for citation in draft.citations:
        begins.setdefault(citation.place.file, []).append(citation.place.begin)
    for offsets in begins.values():
        offsets.sort()
    for paragraph in draft.paragraphs:
        for at, sentence in enumerate(paragraph.sentences):
            is_last = at + 1 == len(paragraph.sentences)
            next_begin = paragraph.place.end if is_last else paragraph.sentences[at + 1].place.begin
            offsets = begins.get(sentence.place.file, [])
            first = bisect_right(offsets, sentence.place.begin - 1)
            if first < len(offsets) and offsets[first] < max(next_begin, sentence.place.end):
                sentence.cited = True
