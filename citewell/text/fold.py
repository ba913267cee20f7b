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


def composed(text: str) -> str:
    """`text` with one character for each letter and its accents, where there is one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded_name(name: str) -> str:
    """`folded`, and also without the combining marks of other scripts: services write names with and without them."""
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).casefold()


def ascii_letters(text: str) -> str:
    """`text` in lower-case ASCII, for citation keys: accents are removed and other characters dropped."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
