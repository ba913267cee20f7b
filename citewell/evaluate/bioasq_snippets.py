"""From BioASQ's snippets to the sentences of papers.

A snippet is a span of a title or an abstract. Its offsets are followed where the text there is that of the snippet. Otherwise
(another version of the record, other labels of a structured abstract) its text is looked up, first as it is, then by its
letters and digits alone. The sentences of a span are those of which it covers at least half; if it covers half of none, the
one of which it covers most. So a snippet of several sentences becomes each of them, as in the AUEB studies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citewell.evaluate.bioasq_training import TrainingSnippet

OFFSETS, TEXT = "offsets", "text"
"""How a snippet was located."""
_SECTIONS = {"title": "title", "abstract": "abstract", "sections.0": "abstract"}
"""BioASQ's names of sections; older files call the abstract ``sections.0``."""
_HALF = 0.5


class Span(NamedTuple):
    """A part of the text of a section."""

    section: str
    begin: int
    end: int


class Located(NamedTuple):
    """The sentences of a snippet by their position, and how they were found."""

    sentences: list[int]
    how: str


def locate(snippet: TrainingSnippet, texts: dict[str, str], sentences: Sequence[Span]) -> Located | None:
    """The sentences of a snippet; None if its text is not in the paper.

    `texts` are those of the title and the abstract, `sentences` where each sentence of the paper is in them.
    """
    if span := _by_offsets(snippet, texts):
        return Located(_covered(span, sentences), OFFSETS)
    if span := _by_text(snippet, texts):
        return Located(_covered(span, sentences), TEXT)
    return None


def _by_offsets(snippet: TrainingSnippet, texts: dict[str, str]) -> Span | None:
    section = _SECTIONS.get(snippet.begin_section, "")
    begin, end = snippet.offset_in_begin_section, snippet.offset_in_end_section
    text = texts.get(section, "")
    if _SECTIONS.get(snippet.end_section, section) != section or not 0 <= begin < end <= len(text):
        return None
    # Without a text there is nothing to compare: the offsets are all that is known.
    right = not snippet.text.strip() or _bare(text[begin:end])[0] == _bare(snippet.text)[0]
    return Span(section, begin, end) if right else None


def _by_text(snippet: TrainingSnippet, texts: dict[str, str]) -> Span | None:
    wanted = snippet.text.strip()
    if not wanted:
        return None
    named = _SECTIONS.get(snippet.begin_section, "abstract")
    ordered = [named, *(name for name in texts if name != named)]
    for section in ordered:
        begin = texts.get(section, "").find(wanted)
        if begin >= 0:
            return Span(section, begin, begin + len(wanted))
    bare, _ = _bare(wanted)
    for section in ordered:
        text, places = _bare(texts.get(section, ""))
        begin = text.find(bare) if bare else -1
        if begin >= 0:
            return Span(section, places[begin], places[begin + len(bare) - 1] + 1)
    return None


def _bare(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text, folded, and the offset of each."""
    pairs = [(folded, at) for at, letter in enumerate(text) if letter.isalnum() for folded in letter.casefold()]
    return "".join(folded for folded, _ in pairs), [at for _, at in pairs]


def _covered(span: Span, sentences: Sequence[Span]) -> list[int]:
    shares = {place: share for place, share in _shares(span, sentences) if share > 0}
    most = [place for place, share in shares.items() if share >= _HALF]
    return most or [max(shares, key=lambda place: shares[place])] if shares else []


def _shares(span: Span, sentences: Sequence[Span]) -> Iterator[tuple[int, float]]:
    """The share of each sentence that a span covers."""
    for place, (section, begin, end) in enumerate(sentences):
        if section == span.section:
            yield place, (min(end, span.end) - max(begin, span.begin)) / max(1, end - begin)
