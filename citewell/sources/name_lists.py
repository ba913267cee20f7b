"""Lists of authors in one cell of a table, in the ways that people and programs separate them.

A semicolon, a bar, a line break or the word "and" separates names wherever there is one. If there are only commas, they
separate names (``Ada Lovelace, Alan Turing``), or the parts of one name (``Lovelace, Ada``), or both (``Lovelace, A., Turing,
A. M.``).
"""

from __future__ import annotations

import re

from citewell.papers import OTHERS, Name
from citewell.sources.clean import text
from citewell.text.names import parse

_SEPARATOR = re.compile(r"[;|\n]")
_AND = re.compile(r"\s(?:and|&|und)\s", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_a-z]\.?[- ]?){1,4}")
_SHORT = re.compile(r"(\S.*?) ((?:[^\W\d_a-z]\.?-?){1,3})", re.DOTALL)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_OTHERS = frozenset(("et al", "et al.", "others", "...", "and others"))
_JOINT = re.compile(
    r"(?<=[^\W\d_A-Z])(?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bDi)(?<!\bDu)(?<!\bLa)(?<!\bLe)(?<!\bVan)(?<!\bFitz)(?=[A-Z])|(?<=[A-Z]\.)(?=[A-Z][a-z])"
)
_NUMBER = re.compile(r"\s*\(\d+\)$")


def listed_names(value: str) -> list[Name]:
    """The names in `value`."""
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        parts = [single or double for single, double in _QUOTED.findall(value)] or value[1:-1].split(",")
    elif _SEPARATOR.search(value):
        parts = _SEPARATOR.split(value)
    else:
        parts = _by_words(value)
    return [name for part in parts if any(name := _name(part))]


def separated(value: str) -> str:
    """`value` with semicolons between the names, which Springer writes without a space: ``Ada BergBo Lund``."""
    return _JOINT.sub("; ", value)


def _by_words(value: str) -> list[str]:
    if value.count(".") == 1:  # PubMed ends the list with a full stop
        value = value.removesuffix(".")
    value = value.removesuffix("et al").rstrip(" ,")
    return [part for joined in _AND.split(value) for part in _by_commas(joined.strip(" ,"))]


def _by_commas(value: str) -> list[str]:
    parts = [part.strip() for part in value.split(",")]
    if len(parts) == 1:
        return parts
    if len(parts) % 2 == 0 and all(_INITIALS.fullmatch(part) for part in parts[1::2]):
        return [f"{family}, {given}" for family, given in zip(parts[::2], parts[1::2], strict=True)]
    if len(parts) == 2 and (parts[0][:1].islower() or not all(" " in part for part in parts)):
        return [value]
    return parts


def _name(part: str) -> Name:
    """One name; ``Lovelace A``, as PubMed and Scopus write it, has the family name first."""
    listed = text(_NUMBER.sub("", part.strip(" ,\n")))
    if listed.lower() in _OTHERS:
        return OTHERS
    short = _SHORT.fullmatch(listed) if "," not in listed else None
    return parse(f"{short[1]}, {short[2]}" if short else listed)
