"""Folding of case and accents, so that ``Müller`` and ``muller`` compare as equal."""

from __future__ import annotations

import re
import unicodedata

_COMBINING = re.compile(r"[\u0300-\u036f]")


def folded(text: str) -> str:
    """`text` in lower case, without accents and with ligatures resolved."""
    if text.isascii():
        return text.lower()
    return _COMBINING.sub("", unicodedata.normalize("NFKD", text)).casefold()
