"""The body of a JATS article as sentences and citation contexts.

Each paragraph becomes one string with a placeholder for every citation. Adjacent citations are merged into one mark, which
includes its brackets and an author name before a linked year.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from lxml.etree import _Element

from citewell.papers import Context, Reference, Sentence
from citewell.sources.xml import text, text_at
from citewell.text.citation_contexts import CitationSpan, citation_contexts, mask_citations
from citewell.text.sentences import split_sentences

_NOT_PROSE = ("table", "supplementary-material", "media", "table-wrap-foot", "fn", "fn-group", "disp-formula", "ref-list")
_BLOCKS = (
    *_NOT_PROSE,
    *("fig", "fig-group", "table-wrap", "table-wrap-group", "boxed-text", "list", "def-list", "disp-quote", "speech"),
    *("statement", "verse-group", "code", "preformat", "array", "graphic", "inline-graphic", "inline-supplementary-material"),
    *("tex-math", "{*}annotation", "{*}annotation-xml", "object-id", "disp-formula-group", "chem-struct-wrap", "sec"),
)
_PLACEHOLDER = re.compile(r"\ufdd0([0-9]{1,7})\ufdd1")
_BETWEEN_ADJACENT = re.compile(r"[\s,;&/()\[\]\u2010-\u2015\u2212-]*")
_DASH = re.compile(r"[\s)\]]*[\u2010-\u2015\u2212-][\s(\[]*")
_NUMBER = re.compile(r"[\s(\[]*(\d{1,3})[\s)\]]*")
_RANGE = re.compile(r"[\s(\[]*(\d{1,3})\s*[\u2010-\u2015\u2212-]\s*(\d{1,3})[\s)\]]*")
_AFTER_STOP = re.compile(
    r"(?<!\bal)([.!?])([\[(]?(?:\ufdd0[0-9]+\ufdd1[\s,;\u2010-\u2015\u2212-]*)*\ufdd0[0-9]+\ufdd1[\])]?)"
    r"(?=\s+[\"'\u201c\u2018(\[]*[A-Z0-9]|\s*$)"
)
"""Citations after the full stop of their sentence, like superscript numbers."""
_AFTER_NAME = re.compile(
    r"(?:['\u2019]s)?(?:,?\s+et\s+al\b\.?|(?:,\s+[^\s(),;]+){0,4},?\s+(?:and|&)\s+[^\s(),;]+(?:\s[^\s(),;a-z][^\s(),;]*)?)?"
    r"(?:['\u2019]s)?[\s,]*[(\[]?\s*"
)
"""Text that may be between the family name of the first author and the mark."""
_MAX_NAMES = 120
_MAX_RANGE = 100


class Cited(NamedTuple):
    """One entry of the reference list."""

    names: list[str]
    """The XML ids by which the text refers to it."""
    references: list[Reference]
    families: list[str]
    """The family names of the first authors of the works."""


class _Mark(NamedTuple):
    start: int
    end: int
    entries: list[int]
    """Positions in the reference list."""
    number: int | None
    """The number in the text, if the citation is a number."""


def full_text(body: _Element, cited: list[Cited]) -> tuple[list[Sentence], list[Context]]:
    """The sentences of the body and a context for every citation in it."""
    positions = {name: position for position, entry in enumerate(cited) for name in entry.names}
    sentences: list[Sentence] = []
    contexts: list[Context] = []
    number = 0
    for position, (paragraph, section) in enumerate(_paragraphs(body), 1):
        words, spans = _marked(paragraph, positions, cited)
        if not words or words.startswith("DOI: http"):
            continue
        sentences += [Sentence(sentence, section, position) for sentence in split_sentences(mask_citations(words, spans))]
        contexts += [context for context in citation_contexts(words, spans, section, first_id=number) if context.cited]
        number += len(spans)
    return sentences, contexts


def _paragraphs(body: _Element) -> list[tuple[_Element, str]]:
    """Paragraphs of prose, captions included, with the title of their top-level section.

    They are collected before any of them is modified, because one may be inside another.
    """
    paragraphs = []
    for part in body:
        section = (text_at(part, "title") or part.get("sec-type", "")) if part.tag == "sec" else ""
        excluded = {paragraph for block in part.iter(*_NOT_PROSE) for paragraph in block.iter("p")}
        paragraphs += [(paragraph, section) for paragraph in part.iter("p") if paragraph not in excluded]
    return paragraphs


def _marked(paragraph: _Element, positions: dict[str, int], cited: list[Cited]) -> tuple[str, list[CitationSpan]]:
    """The text of a paragraph and its citation spans."""
    for block in [*paragraph.iter(*_BLOCKS)]:
        if block is not paragraph and not _plain_formula(block):
            _overwrite(block, " ")
    pointers: list[tuple[str, list[int]]] = []
    for xref in [*paragraph.iter("xref")]:
        names = xref.get("rid", "").split()
        if xref.get("ref-type") == "bibr" or any(name in positions for name in names):
            pointers.append((text(xref), [positions[name] for name in names if name in positions]))
            _overwrite(xref, f"\ufdd0{len(pointers) - 1}\ufdd1")
    words = " ".join("".join(cast("Iterator[str]", paragraph.itertext())).split())
    if not pointers:
        return words, []
    words = _AFTER_STOP.sub(r" \2\1", words)
    placeholders = [each for each in _PLACEHOLDER.finditer(words) if int(each[1]) < len(pointers)]
    marks = [_mark(each, pointers, len(cited)) for each in placeholders]
    groups = _grouped(words, _with_names(words, marks, cited))
    return words, [_span(words, group, cited) for group in groups]


def _plain_formula(block: _Element) -> bool:
    """Whether this is a formula in TeX only, without the preamble that some archives add."""
    parent = block.getparent()
    alone = block.tag == "tex-math" and parent is not None and parent.tag != "alternatives"
    return alone and "\\documentclass" not in text(block)


def _overwrite(element: _Element, content: str) -> None:
    """Replace the content of an element by text; removing it would copy its tail, at a cost that grows with the text."""
    tail = element.tail
    element.clear()
    element.text, element.tail = content, tail


def _mark(placeholder: re.Match[str], pointers: list[tuple[str, list[int]]], size: int) -> _Mark:
    label, entries = pointers[int(placeholder[1])]
    if (ends := _RANGE.fullmatch(label)) and len(entries) == 1:
        last = entries[0] + int(ends[2]) - int(ends[1])
        entries = [*range(entries[0], last + 1)] if entries[0] < last < min(size, entries[0] + _MAX_RANGE) else entries
        return _Mark(placeholder.start(), placeholder.end(), entries, int(ends[2]))
    number = _NUMBER.fullmatch(label)
    return _Mark(placeholder.start(), placeholder.end(), entries, int(number[1]) if number else None)


def _with_names(words: str, marks: list[_Mark], cited: list[Cited]) -> Iterator[_Mark]:
    """The marks, extended by an author name before them: "Smith et al. (2001)" if only the year is linked."""
    at = 0
    for mark in marks:
        before = words[max(at, mark.start - _MAX_NAMES) : mark.start]
        at = mark.end
        for family in {family for entry in mark.entries for family in cited[entry].families}:
            name = before.rfind(family)
            if name >= 0 and not before[name - 1 : name].isalnum() and _AFTER_NAME.fullmatch(before, name + len(family)):
                mark = mark._replace(start=mark.start - len(before) + name)
                break
        yield mark


def _grouped(words: str, marks: Iterator[_Mark]) -> list[_Mark]:
    """The marks, merged where only punctuation separates them."""
    groups: list[_Mark] = []
    for mark in marks:
        last = groups[-1] if groups else None
        gap = words[last.end : mark.start] if last else ""
        if last is None or not _BETWEEN_ADJACENT.fullmatch(gap):
            groups.append(mark._replace(entries=[*mark.entries]))
            continue
        if _DASH.fullmatch(gap):
            last.entries.extend(_between(last, mark))
        last.entries.extend(mark.entries)
        groups[-1] = last._replace(end=mark.end, number=mark.number)
    return groups


def _between(first: _Mark, last: _Mark) -> range:
    """The entries that "3-5" cites in addition to 3 and 5, if the numbers agree with the order of the list."""
    if first.number is None or last.number is None or not first.entries or not last.entries:
        return range(0)
    begin, end = first.entries[-1], last.entries[0]
    return range(begin + 1, end) if 1 < end - begin == last.number - first.number < _MAX_RANGE else range(0)


def _span(words: str, mark: _Mark, cited: list[Cited]) -> CitationSpan:
    """The mark with the brackets around it, and the works that it cites."""
    start, end = mark.start, mark.end
    for left, right in ("()", "[]"):
        unclosed = words.count(left, start, end) > words.count(right, start, end)
        if words[end : end + 1] == right and (unclosed or (start and words[start - 1] == left)):
            start, end = start if unclosed else start - 1, end + 1
    return start, end, [reference for entry in dict.fromkeys(mark.entries) for reference in cited[entry].references]
