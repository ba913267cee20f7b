r"""TeX's way of writing accented letters, as in ``G\"odel``, turned into the letters themselves.

Names, titles and abstracts of arXiv are full of them. Everything else that TeX can say, formulas above all, stays as it is.
"""

from __future__ import annotations

import re
import unicodedata

_MARKS = dict(
    zip("'`^\"~=.cvuHkr", "\u0301\u0300\u0302\u0308\u0303\u0304\u0307\u0327\u030c\u0306\u030b\u0328\u030a", strict=True)
)
"""The combining character for each of TeX's accents."""
_SIGN = re.compile(r"""\\(['`^"~=.]) ?(?:\{ ?\\?([A-Za-z]) ?\}|\\([ij])(?![A-Za-z]) ?|([A-Za-z]))""")
_WORD = re.compile(r"\\([cvuHkr])(?:\{ ?\\?([A-Za-z]) ?\}| \\?([A-Za-z])(?![A-Za-z]))")
_LETTERS = dict(zip(("ss", "ae", "AE", "oe", "OE", "aa", "AA", *"oOlLij"), "ßæÆœŒåÅøØłŁij", strict=True))
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|[oOlLij])(?:\{\}|(?![A-Za-z]) ?)")
_BRACED = re.compile(r"\{([^\W\d_A-Za-z])\}")


def accented(text: str) -> str:
    """`text` with TeX's accents and special letters outside of formulas as Unicode."""
    if "\\" not in text:
        return text
    parts = text.split("$")
    parts[::2] = map(_spelled, parts[::2])
    return "$".join(parts)


def _spelled(text: str) -> str:
    for pattern in (_SIGN, _WORD):
        text = pattern.sub(_compose, text)
    text = _LETTER.sub(lambda found: _LETTERS[found[1]], text)
    return _BRACED.sub(r"\1", text)


def _compose(found: re.Match[str]) -> str:
    mark, *letters = found.groups()
    return unicodedata.normalize("NFC", next(filter(None, letters)) + _MARKS[mark])
