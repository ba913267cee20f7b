"""Reads plain text: the title on the first line, paragraphs between empty lines, ``[?]`` where a citation is missing."""

from __future__ import annotations

import re

from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource
from citewell.draft.gaps import GAP, bracket_note
from citewell.draft.queries import is_uncited_section
from citewell.draft.source_text import SourceText
from citewell.papers import Draft

_ABSTRACT = re.compile(r"[#*\s]*abstract[*.:\s]*", re.IGNORECASE)
_PARAGRAPH = re.compile(r"[^\n]*\S[^\n]*(?:\n|$)(?:(?![ \t]*(?:[-*]|\u2022)[ \t])[^\n]*\S[^\n]*(?:\n|$))*")
"""Lines up to an empty one or to the next list item."""
_FIRST_LINE = re.compile(r"[#\s]*(\S[^\n]*)")
_MAX_HEADING_WORDS = 8
PRIORITY = 0


def matches(source: DraftSource) -> bool:
    """Any text can be read as plain text: this reader is tried last."""
    return True


def read(source: DraftSource) -> Draft:
    """The draft in a plain text."""
    return _read(SourceText.of(source.text))


def _read(source: SourceText) -> Draft:
    text = source.text
    builder = DraftBuilder(source, Draft(format="text"))
    draft = builder.draft
    title = _FIRST_LINE.match(text)
    if title is None:
        return builder.build()
    draft.title = " ".join(title[1].split())
    in_abstract = False
    for match in _PARAGRAPH.finditer(text, title.end()):
        begin, end = match.span()
        label = _ABSTRACT.match(text, begin, end)
        if not draft.abstract and label and label[0].strip():
            in_abstract = True
            begin = label.end()
        paragraph = text[begin:end].strip()
        if not paragraph:
            continue
        first, _, rest = paragraph.partition("\n")
        if rest and is_uncited_section(first):  # "References" with the list directly below it
            builder.section = first.strip()
            begin = text.index(first, begin, end) + len(first)
            paragraph = rest.strip()
        copy_with_gaps(builder.block, source, begin, end)
        if _is_heading(paragraph) and not in_abstract:
            builder.section = without_marks(builder.block.readable().lstrip("# "))
            _end_without_text(builder)
        elif in_abstract or not draft.abstract:
            draft.abstract = without_marks(builder.block.readable())
            in_abstract = False
            _end_without_text(builder)
        else:
            builder.end_paragraph()
    return builder.build()


def copy_with_gaps(block: Block, source: SourceText, begin: int, end: int) -> None:
    """Copy a span of the source text into a block and mark the gaps in it."""
    for gap in GAP.finditer(source.text, begin, end):
        block.copy(source.text[begin : gap.start()], begin)
        block.mark(*gap.span(), [], bracket_note(gap[0]))
        begin = gap.end()
    block.copy(source.text[begin:end], begin)


def _end_without_text(builder: DraftBuilder) -> None:
    """End a heading or an abstract: only its citations are kept."""
    block, builder.block = builder.block, Block()
    builder.add_citations(block)


def _is_heading(paragraph: str) -> bool:
    if paragraph.startswith("#"):
        return "\n" not in paragraph
    is_short = "\n" not in paragraph and len(paragraph.split()) <= _MAX_HEADING_WORDS
    return is_short and not paragraph.endswith((".", "!", "?", ":"))
