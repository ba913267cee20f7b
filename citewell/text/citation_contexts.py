"""The context of each citation in a paragraph.

A context is the citing sentence with one sentence on either side. The citation itself becomes `TARGET_MARK` and every other one
`OTHER_MARK`, so that neither author names nor numbers reveal the cited paper. `shorten_context` makes one fit for display.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.papers import OTHER_MARK, TARGET_MARK, Context, Reference
from citewell.text.sentences import split_sentences

_PLACEHOLDER = re.compile(r"\x00(\d+)\x00")
_SPACE = re.compile(r"\s+")
_SPACE_BEFORE_PUNCTUATION = re.compile(r"(\[[^][]*\]) ([.,;:)])")

MAX_SIDE = 1000
"""A context has at most this many characters on either side of its mark."""
MAX_CHARACTERS = 20_000_000
"""Once the contexts of a text have this many characters, further ones are short: a damaged text can consist of citations."""
_SHORT_SIDE = 100

CitationSpan = tuple[int, int, list[Reference]]
"""Start and end of a citation in a paragraph, and the works that it cites."""


def mask_citations(text: str, spans: Sequence[CitationSpan]) -> str:
    """`text` with every citation replaced by `OTHER_MARK`."""
    return _PLACEHOLDER.sub(OTHER_MARK, _numbered(text, spans))


def citation_contexts(
    text: str,
    spans: Sequence[CitationSpan],
    section: str = "",
    first_id: int = 0,
    max_characters: int = MAX_CHARACTERS,
) -> list[Context]:
    """One context per citation of the paragraph; their ids count up from `first_id`.

    Once they have `max_characters` characters together, further ones are short.
    """
    numbered = split_sentences(_numbered(text, spans))
    masked = ["", *(_PLACEHOLDER.sub(OTHER_MARK, sentence) for sentence in numbered), ""]
    contexts = []
    for position, sentence in enumerate(numbered):
        before, citing, after = masked[position : position + 3]
        at = end = 0
        for placeholder in _PLACEHOLDER.finditer(sentence):
            at += placeholder.start() - end
            end = placeholder.end()
            side = MAX_SIDE if max_characters > 0 else _SHORT_SIDE
            window = f"{_left(before, citing, at, side)}{TARGET_MARK}{_right(citing, at + len(OTHER_MARK), after, side)}"
            max_characters -= len(window)
            target = int(placeholder[1])
            contexts.append(Context(window.strip(), spans[target][2], section=section, id=str(first_id + target)))
            at += len(OTHER_MARK)
    return contexts


def shorten_context(text: str, width: int = 160, target: str = "[?]") -> str:
    """As many words around the mark of a context as fit into `width` characters; the mark itself is shown as `target`."""
    words = text.split()
    gap = next((at for at, word in enumerate(words) if TARGET_MARK in word), 0)
    first = last = gap
    length = len(words[gap]) if words else 0
    while length < width and (first > 0 or last < len(words) - 1):
        if first == last:
            length += 1  # every word counts with one space, except a single word
        if first > 0:
            first -= 1
            length += len(words[first]) + 1
        if last < len(words) - 1:
            last += 1
            length += len(words[last]) + 1
    shown = " ".join(words[first : last + 1]).replace(TARGET_MARK, target).replace(OTHER_MARK, "[…]")
    shown = _SPACE_BEFORE_PUNCTUATION.sub(r"\1\2", shown)
    return f"{'… ' if first else ''}{shown}{' …' if last < len(words) - 1 else ''}"


def _left(before: str, sentence: str, at: int, side: int) -> str:
    """The text to the left of a mark. It is bounded because a "sentence" of a damaged text can contain thousands of marks."""
    left = f"{before[-side:]} {sentence[max(0, at - side) : at]}"
    return left if len(left) <= side else left[-side:].partition(" ")[2]


def _right(sentence: str, at: int, after: str, side: int) -> str:
    """The text to the right of a mark, with the same bound."""
    right = f"{sentence[at : at + side]} {after[:side]}"
    return right if len(right) <= side else right[:side].rpartition(" ")[0]


def _numbered(text: str, spans: Sequence[CitationSpan]) -> str:
    """`text` with span number i replaced by a placeholder that contains i; spans must not overlap."""
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
    return shorten_context(context, _NEAR, "").replace("[…]", "").strip()
