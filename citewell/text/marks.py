"""From a paragraph with marked citations to the contexts of each of them.

A context is the sentence that cites, with a sentence on either side. The citation in question becomes `TARGET_MARK`, every
other one `OTHER_MARK`, so that neither author names nor numbers give the answer away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.papers import OTHER_MARK, TARGET_MARK, Context, Reference
from citewell.text.sentences import split_sentences

_PLACE = re.compile(r"\x00(\d+)\x00")
_SPACE = re.compile(r"\s+")

Span = tuple[int, int, list[Reference]]
"""Start and end of a citation mark in a paragraph, and what it cites."""


def mask_all(text: str, spans: Sequence[Span]) -> str:
    """`text` with every citation mark replaced by `OTHER_MARK`."""
    return _PLACE.sub(OTHER_MARK, _numbered(text, spans))


def contexts(text: str, spans: Sequence[Span], section: str = "", first_id: int = 0) -> list[Context]:
    """One context per citation mark of the paragraph; their ids count up from `first_id`."""
    sentences = split_sentences(_numbered(text, spans))
    found = []
    for here, sentence in enumerate(sentences):
        for place in _PLACE.finditer(sentence):
            window = " ".join(sentences[max(0, here - 1) : here + 2])
            target = int(place[1])
            masked = _PLACE.sub(lambda mark, target=target: TARGET_MARK if int(mark[1]) == target else OTHER_MARK, window)
            found.append(Context(masked, spans[target][2], section=section, id=str(first_id + target)))
    return found


def _numbered(text: str, spans: Sequence[Span]) -> str:
    """`text` with span i replaced by a placeholder that holds i; spans must not overlap."""
    pieces = []
    at = 0
    for number, (start, end, _) in enumerate(spans):
        pieces += [text[at:start].replace("\x00", ""), f" \x00{number}\x00 "]
        at = end
    pieces.append(text[at:].replace("\x00", ""))
    return _SPACE.sub(" ", "".join(pieces)).strip()
