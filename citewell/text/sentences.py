"""Sentences of running text, by punctuation and what stands on either side of it."""

from __future__ import annotations

import re

_END = re.compile(r"""[.!?]["'”’)\]]*\s+(?=["'“‘(\[]*[A-Z0-9])""")
_ABBREVIATION = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|etc|Fig|Figs|Eq|Eqs|Sec|Tab|Ref|Refs|Dr|Prof|Mr|Mrs|Ms|St|No|Vol|approx|resp|ca|spp?)|\b[A-Z])\.$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, in order, trimmed, none empty."""
    sentences = []
    start = 0
    for end in _END.finditer(text):
        sentence = text[start : end.end()].strip()
        if _ABBREVIATION.search(sentence[-12:]):
            continue
        sentences.append(sentence)
        start = end.end()
    if last := text[start:].strip():
        sentences.append(last)
    return sentences
