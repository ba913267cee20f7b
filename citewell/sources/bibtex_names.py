"""Author lists in BibTeX: ``Family, Given and Given Family and {An Organisation, with a comma}``."""

from __future__ import annotations

import re

from citewell.sources.latex import to_text

_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_BRACE_OR_AND = re.compile(r"[{}]|\s+and\s+", re.IGNORECASE)
_BRACE_OR_COMMA = re.compile(r"[{},]")
_PARTS = ("given", "prefix", "family", "suffix")
_PART = re.compile(r"\b(given|prefix|family|suffix)(?:-i)?\s*=", re.IGNORECASE)


def people(value: str) -> list[str]:
    """The names in `value`, given names first; the ``others`` of an open list is not a name."""
    value = value.strip()
    if not value:
        return []
    listed = _AND.split(value) if "{" not in value else _split(value, _BRACE_OR_AND)
    if len(listed) == 1 and "{" not in value and _is_comma_list(value):
        listed = value.split(",")
    return [name for each in listed if each.strip() != "others" and (name := _name(each))]


def _is_comma_list(value: str) -> bool:
    """Whether `value` is ``Ada Lovelace, Charles Babbage, Alan Turing, ...``, which cannot be a single name."""
    parts = value.split(",")
    return len(parts) > 3 and all(" " in part.strip() for part in parts)


def _name(source: str) -> str:
    if "," not in source:
        return to_text(source)
    parts = [to_text(part) for part in (_split(source, _BRACE_OR_COMMA) if "{" in source else source.split(","))]
    if "=" in source and _PART.match(source.strip()):
        known = {name.strip().lower(): value for name, _, value in (part.partition("=") for part in parts)}
        return to_text(" ".join(known.get(name, "").strip(' "') for name in _PARTS))
    match parts:
        case [family, given]:
            ordered = [given, family]
        case [family, junior, given, *rest]:
            ordered = [given, *rest, family, junior]
        case _:
            ordered = parts
    return " ".join(filter(None, ordered))


def _split(value: str, breaks: re.Pattern[str]) -> list[str]:
    """`value` split at the `breaks` outside of braces."""
    pieces = []
    depth = at = 0
    for sign in breaks.finditer(value):
        match sign[0]:
            case "{":
                depth += 1
            case "}":
                depth = max(0, depth - 1)
            case _ if not depth:
                pieces.append(value[at : sign.start()])
                at = sign.end()
    return [*pieces, value[at:]]
