"""Sentences of running text, by punctuation and what stands on either side of it."""

from __future__ import annotations

import re

_END = re.compile(r"""[.!?]["'\u201d\u2019)\]]*\s+(?=["'\u201c\u2018(\[]*[A-Z0-9])""")
_ABBREVIATION = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|etc|Fig|Figs|Eq|Eqs|Sec|Tab|Ref|Refs|Dr|Prof|Mr|Mrs|Ms|St|No|Vol|approx|resp|ca|spp?)|\b[A-Z])\.$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, in order, trimmed, none empty."""
    sentences = []
    start = 0
    for end in _END.finditer(text):
        # Only the last word is looked at here: a text of nothing but initials must not be copied once for each.
        if _ABBREVIATION.search(text[max(start, end.start() - 20) : end.end()].rstrip()[-12:]):
            continue
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    if last := text[start:].strip():
        sentences.append(last)
    return sentences
