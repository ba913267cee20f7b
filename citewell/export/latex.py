"""Text as LaTeX: special characters escaped, accents unchanged."""

from __future__ import annotations

import re

_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "$&#%_"}
    | {"\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
_LIGATURE = re.compile(r"-(?=-)|'(?=')|`(?=`)")


def escaped(text: str) -> str:
    """`text` with LaTeX's special characters escaped."""
    return _LIGATURE.sub(r"\g<0>{}", text.translate(_ESCAPES))
