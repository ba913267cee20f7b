"""The part of a context that is near its mark, by characters; data sets of citation contexts differ in how much they keep."""

from __future__ import annotations

import re

from citewell.papers import TARGET_MARK

_LAST_SPACE = re.compile(r"\s\S*\Z")


def cut_context(text: str, characters: int) -> str:
    """At most `characters` on either side of the mark, whole words only; without a mark, the first ones of both sides."""
    before, mark, after = text.partition(TARGET_MARK)
    if not mark:
        return _first(text, 2 * characters)
    return _first(before[::-1], characters)[::-1] + mark + _first(after, characters)


def _first(text: str, characters: int) -> str:
    """The first characters, without a word that does not end among them."""
    if len(text) <= characters:
        return text
    cut = text[: characters + 1]
    space = _LAST_SPACE.search(cut)
    return cut[: space.start()] if space else ""
