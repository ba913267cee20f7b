r"""TeX accents such as ``G\"odel``, turned into the accented letters.

Names, titles and abstracts of arXiv are full of them. All other TeX, such as formulas, is unchanged. This is the one table of
TeX accents: `citewell.sources.latex` and the reader of LaTeX drafts use it too.
"""

from __future__ import annotations

import re
import unicodedata

ACCENTS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
    "d": "\u0323",
    "b": "\u0331",
    "k": "\u0328",
    "r": "\u030a",
}
"""The combining character for each of TeX's accent commands."""
SIGN_ACCENTS = "\"'`^~=."
LETTER_ACCENTS = "uvHcdbkr"
"""Accent commands that are a letter; TeX needs a space or a brace after them."""

_SIGN = re.compile(rf"""\\([{SIGN_ACCENTS}]) ?(?:\{{ ?\\?([A-Za-z]) ?\}}|\\([ij])(?![A-Za-z]) ?|([A-Za-z]))""")
_WORD = re.compile(r"\\([cvuHkr])(?:\{ ?\\?([A-Za-z]) ?\}| \\?([A-Za-z])(?![A-Za-z]))")
_LETTERS = dict(zip(("ss", "ae", "AE", "oe", "OE", "aa", "AA", *"oOlLij"), "ßæÆœŒåÅøØłŁij", strict=True))
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?:\{\}|(?![A-Za-z]) ?)")
_BRACED = re.compile(r"\{([^\W\d_A-Za-z])\}")


def decode_tex_accents(text: str) -> str:
    """`text` with the TeX accents and special letters outside of formulas as Unicode."""
    if "\\" not in text:
        return text
    parts = text.split("$")
    parts[::2] = map(_decoded, parts[::2])
    return "$".join(parts)


def with_accent(letter: str, accent: str) -> str:
    r"""`letter` with the accent of a TeX command: ``with_accent("o", '"')`` is ``ö``."""
    return unicodedata.normalize("NFC", letter + ACCENTS[accent])


def _decoded(text: str) -> str:
    for pattern in (_SIGN, _WORD):
        text = pattern.sub(_letter, text)
    text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
    return _BRACED.sub(r"\1", text)


def _letter(match: re.Match[str]) -> str:
    accent, *letters = match.groups()
    return with_accent(next(filter(None, letters)), accent)
