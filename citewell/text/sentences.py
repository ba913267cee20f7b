"""Splits text into sentences, by punctuation and the characters around it.

A full stop ends a sentence if the next word can begin one: with a capital, a digit, or as the name of a gene or a compound that
is always written in lower case (p53, miR-132, gamma-tocopherol). It does not after an abbreviation or an initial, or inside a
number. The full stops of Chinese and Japanese end a sentence whatever follows.
"""

from __future__ import annotations

import re
from itertools import pairwise

_CLOSING = r"(?: \[\d[\d, \u2013-]*\]| \"(?=\s)|[\"'\u201d\u2019)\]]*)"
_NAME = (
    r"[a-z]{1,6}-?[A-Z0-9]"  # p53, mTOR, miR-132, lncRNAs
    r"|(?:alpha|beta|gamma|delta|epsilon|kappa|lambda|omega|cis|trans|[\u03b1-\u03c9])-?\w"
)
_CAPITAL = (
    r"[\u00c0-\u00d6\u00d8-\u00de]"  # É, Ö
    r"|[\u0386-\u03ab][\u03ac-\u03ce]"  # Greek words; a single letter is a symbol
    r"|[\u0401-\u042f]"  # Cyrillic
)
_NUMERAL = r"[ivx]{1,4}\)"
_BEGINNING = rf"[\"'\u201c\u2018(\[\u2022\u200e]*(?:[A-Z0-9\u00a9]|{_CAPITAL}|{_NAME}|{_NUMERAL})"
_END = re.compile(
    rf"(?:(?<=[a-z]{{5}})[.!?]{_CLOSING}\s+(?=[a-z])"  # after a long word, which cannot be an abbreviation
    rf"|[.!?]{_CLOSING}\s+(?={_BEGINNING})"
    r"|[\u3002\uff01\uff1f][\u201d\u2019\u300d\u300f\uff09]*\s*)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|etc|viz|Fig|Figs|Eq|Eqs|Sec|Sect|Tab|Ref|Refs|Dr|Prof|Mr|Mrs|Ms|St|No|Nos|Vol|pp|approx|resp|ca"
    r"|spp?|subsp|var|inc|Inc|Ltd|Co|Corp|Jr|Sr)|\b[A-Z])\.$"
)
_LEADER, _DOT = re.compile(r"(?<!\.)(?:\.++\s++){5,}"), re.compile(r"\.+\s+")
"""The dots of a table of contents, longer than any ellipsis; each is a sentence of its own."""

Span = tuple[int, int]


def sentence_spans(text: str) -> list[Span]:
    """The start and end of each sentence of `text`; together they cover the whole text, with its spaces."""
    cuts = {0, len(text)}
    start = 0
    for end in _END.finditer(text):
        # Only the last word is examined: a text of nothing but initials must not be copied once for each.
        if _ABBREVIATION.search(text[max(start, end.start() - 20) : end.end()].rstrip()[-12:]):
            continue
        start = end.end()
        cuts.add(start)
    for leader in _LEADER.finditer(text):
        cuts.update(dot.end() for dot in _DOT.finditer(text, *leader.span()))
    return list(pairwise(sorted(cuts)))


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, in order, trimmed, none empty."""
    sentences = (text[start:end].strip() for start, end in sentence_spans(text))
    return [sentence for sentence in sentences if sentence]
