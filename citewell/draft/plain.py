"""Reads plain text: an optional title, paragraphs between empty lines, ``[?]`` where a citation is missing.

A title is one short line that is not a sentence, has no gap, and is followed by an empty line. All other text is running text:
text that is taken for a title or an abstract is not checked, so both have to be certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.draft.builder import Block, DraftBuilder, without_marks
from citewell.draft.files import DraftSource
from citewell.draft.gaps import GAP, bracket_note
from citewell.draft.sections import is_abstract, is_title, is_uncited_section
from citewell.draft.source_text import SourceText
from citewell.papers import Draft
from citewell.text.sentences import sentence_spans

_LABEL = re.compile(r"[#*\s]{0,9}([^\W\d_][^\n.:*\u2014\u2013]{0,40}?)[ \t]{0,9}(?:[*.:\u2014\u2013]{1,3}\s*|\n\s*|$)")
"""A heading in front of a text, such as ``Abstract`` or ``**Zusammenfassung.**``."""
_LABEL_LENGTH = 60
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ITEM = re.compile(r"[ \t]*(?:[-*]|\u2022)[ \t]")
_FIRST_LINE = re.compile(r"[#\s]*(\S[^\n]*)")
_MAX_TITLE_WORDS = 30
_MAX_TITLE = 250
_MAX_HEADING_WORDS = 8
_SENTENCE_ENDS = (".", "!", ":", ";", ",", "\u2026", "\u3002", "\uff01", "\uff1a")
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
    draft.title, start = _title(text)
    spans = list(_paragraphs(text, start))
    in_abstract = False
    for at, (begin, end) in enumerate(spans):
        label = 0 if draft.abstract or in_abstract else _abstract_label(text, begin, end)
        in_abstract = in_abstract or label > 0
        begin = max(begin, label)
        paragraph = text[begin:end].strip()
        if not paragraph:
            continue
        first, _, rest = paragraph.partition("\n")
        if rest and is_uncited_section(first):  # "References" with the list directly below it
            builder.section = first.strip()
            begin = text.index(first, begin, end) + len(first)
            paragraph = rest.strip()
        copy_with_gaps(builder.block, source, begin, end)
        if in_abstract:
            draft.abstract, in_abstract = without_marks(builder.block.readable()), False
            _end_without_text(builder)
        elif _is_heading(paragraph):
            builder.section = without_marks(builder.block.readable().lstrip("# "))
            _end_without_text(builder)
        elif not at and draft.title and not builder.block.marks:
            # The paragraph after the title tells what the draft is about. It is running text too, unless a heading follows it.
            draft.abstract = without_marks(builder.block.readable())
            if len(spans) > 1 and _is_heading(text[slice(*spans[1])].strip()):
                _end_without_text(builder)
            else:
                builder.end_paragraph()
        else:
            builder.end_paragraph()
    return builder.build()


def _title(text: str) -> tuple[str, int]:
    """The title and its end in the text; empty and 0 where the text begins without one."""
    line = _FIRST_LINE.match(text)
    if line is None:
        return "", 0
    title = " ".join(line[1].split())
    next_line = _LINE.match(text, line.end() + 1)
    is_alone = next_line is None or not next_line[0].strip()
    return (title, line.end()) if is_alone and _is_short_line(title) and is_title(title) else ("", 0)


def _is_short_line(line: str) -> bool:
    """Whether a line is short, is not a sentence and has no gap; a question can be a title."""
    return (
        len(line) <= _MAX_TITLE
        and len(line.split()) <= _MAX_TITLE_WORDS
        and not line.endswith(_SENTENCE_ENDS)
        and not GAP.search(line)
        and len(sentence_spans(line)) == 1
    )


def _paragraphs(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The span of each paragraph: lines up to an empty one or to the next list item."""
    begin = end = -1
    for line in _LINE.finditer(text, start):
        is_empty = not line[0].strip()
        if begin >= 0 and (is_empty or _ITEM.match(line[0])):
            yield begin, end
            begin = -1
        if not is_empty:
            begin = line.start() if begin < 0 else begin
            end = line.end()
    if begin >= 0:
        yield begin, end


def _abstract_label(text: str, begin: int, end: int) -> int:
    """The end of the word "Abstract", in any language, at the beginning of a paragraph; 0 where it begins otherwise."""
    label = _LABEL.match(text, begin, min(end, begin + _LABEL_LENGTH))
    return label.end() if label and is_abstract(label[1]) else 0


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
    if "\n" in paragraph or _ITEM.match(paragraph):
        return False
    if paragraph.startswith("#"):
        return True
    return len(paragraph.split()) <= _MAX_HEADING_WORDS and not paragraph.endswith("?") and _is_short_line(paragraph)
