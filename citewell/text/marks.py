"""From a paragraph with marked citations to the contexts of each of them.

A context is the sentence that cites, with a sentence on either side. The citation in question becomes `TARGET_MARK`, every
other one `OTHER_MARK`, so that neither author names nor numbers give the answer away. `shortened` shows one to people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.papers import OTHER_MARK, TARGET_MARK, Context, Reference
from citewell.text.sentences import split_sentences

_PLACE = re.compile(r"\x00(\d+)\x00")
_SPACE = re.compile(r"\s+")
_LOOSE = re.compile(r"(\[[^][]*\]) ([.,;:)])")

REACH = 1000
"""The most characters of a context on either side of its mark."""

Span = tuple[int, int, list[Reference]]
"""Start and end of a citation mark in a paragraph, and what it cites."""


def mask_all(text: str, spans: Sequence[Span]) -> str:
    """`text` with every citation mark replaced by `OTHER_MARK`."""
    return _PLACE.sub(OTHER_MARK, _numbered(text, spans))


def contexts(text: str, spans: Sequence[Span], section: str = "", first_id: int = 0) -> list[Context]:
    """One context per citation mark of the paragraph; their ids count up from `first_id`."""
    numbered = split_sentences(_numbered(text, spans))
    masked = ["", *(_PLACE.sub(OTHER_MARK, sentence) for sentence in numbered), ""]
    found = []
    for here, sentence in enumerate(numbered):
        before, here_masked, after = masked[here : here + 3]
        at = end = 0
        for place in _PLACE.finditer(sentence):
            at += place.start() - end
            end = place.end()
            window = f"{_ending(before, here_masked, at)}{TARGET_MARK}{_beginning(here_masked, at + len(OTHER_MARK), after)}"
            target = int(place[1])
            found.append(Context(window.strip(), spans[target][2], section=section, id=str(first_id + target)))
            at += len(OTHER_MARK)
    return found


def shortened(text: str, width: int = 160, target: str = "[?]") -> str:
    """The words of a context round its place, as many as fit; the place itself shown as `target`."""
    words = text.split()
    gap = next((at for at, word in enumerate(words) if TARGET_MARK in word), 0)
    first = last = gap
    length = len(words[gap]) if words else 0
    while length < width and (first > 0 or last < len(words) - 1):
        if first == last:
            length += 1  # each word counts with a space, but for the first one alone
        if first > 0:
            first -= 1
            length += len(words[first]) + 1
        if last < len(words) - 1:
            last += 1
            length += len(words[last]) + 1
    shown = " ".join(words[first : last + 1]).replace(TARGET_MARK, target).replace(OTHER_MARK, "[…]")
    shown = _LOOSE.sub(r"\1\2", shown)
    return f"{'… ' if first else ''}{shown}{' …' if last < len(words) - 1 else ''}"


def _ending(before: str, sentence: str, at: int) -> str:
    """What stands to the left of a place. A "sentence" of a damaged text may hold thousands of them: hence the bound."""
    left = f"{before[-REACH:]} {sentence[max(0, at - REACH) : at]}"
    return left if len(left) <= REACH else left[-REACH:].partition(" ")[2]


def _beginning(sentence: str, at: int, after: str) -> str:
    """What stands to the right of a place, as far as `_ending` goes to the left."""
    right = f"{sentence[at : at + REACH]} {after[:REACH]}"
    return right if len(right) <= REACH else right[:REACH].rpartition(" ")[0]


def _numbered(text: str, spans: Sequence[Span]) -> str:
    """`text` with span i replaced by a placeholder that holds i; spans must not overlap."""
    pieces = []
    at = 0
    for number, (start, end, _) in enumerate(spans):
        pieces += [text[at:start].replace("\x00", ""), f" \x00{number}\x00 "]
        at = end
    pieces.append(text[at:].replace("\x00", ""))
    return _SPACE.sub(" ", "".join(pieces)).strip()


_NEAR = 240
"""How many characters around the citation `near_mark` keeps."""


def near_mark(context: str) -> str:
    """The words of a context around its citation; text further away says little of the cited paper."""
    return shortened(context, _NEAR, "").replace("[…]", "").strip()
