"""What marks a gap: the ways in which people write that a citation is still missing, in any format."""

from __future__ import annotations

import re

GAP = re.compile(
    r"\[\s*(?:\?+|@\?+|(?:TODO|FIXME|XXX)?\W{0,2}(?:add |insert |find |needs? )?(?:an? )?(?:citations?|cite|refs?|references?)"
    r"(?: (?:needed|missing|required|here|todo))?\s*[?!.]*)\s*\]"
    r"|\[\s*(?:TODO\W{0,2})?(?:cite|citations? (?:needed|for|of|to))\b[:\s][^\[\]\n]{1,120}\]"
    r"|\((?:citations? (?:needed|missing|required)|citations?\?+|refs?\?+)\)"
    r"|\bTARGETCIT\b",
    re.IGNORECASE,
)
"""A gap in running text: ``[?]``, ``[CITATION]``, ``[citation needed]``, ``[cite Berg 1931]``, ``(ref?)`` and the like."""

_ASKS = re.compile(r"\b(?:re)?cit(?:e[sd]?|ing|ations?)\b|\brefs?\b|\breferences?\b|\bsources?\b", re.IGNORECASE)
_TODO = re.compile(r"^\W*(?:todo|fixme|xxx+|tbd|placeholder)?\W*", re.IGNORECASE)
_ASKING = re.compile(
    r"\[[^\[\]]*\]|\b(?:todo|fixme|xxx+|tbd|(?:re)?cit(?:e[sd]?|ing|ations?)|refs?|references?|sources?|papers?|add|insert|find|get"
    r"|look|needs?|needed|missing|required|please|here|there|this|that|these|some|something|someone|somebody|any|more|maybe"
    r"|perhaps|an?|the|for|to|of|on|about|by|from|with|we|i|should|must|which|what|who|e\.g|proper|good|right|check|up|or|others?|said)\b\.?"
    r"|[^\w\s.-]",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"\?+|\.{2,}|…|-+|_+|(?:todo|xxx+|tbd|fixme|placeholder)(?:[:_\W].*)?|cite|citations?|refs?|references?|missing|needed"
    r"|citation\W?needed|key",
    re.IGNORECASE | re.DOTALL,
)


def asks(note: str) -> bool:
    """Whether what an author noted to themselves asks for a citation."""
    return bool(_ASKS.search(note))


def wanted(note: str) -> str:
    """What a note asks for, without the asking: "SciBERT" of "TODO: cite the SciBERT paper here"."""
    return " ".join(_ASKING.sub(" ", note).split())


def note_of(gap: str) -> str:
    """What a gap in brackets says of the work that is missing."""
    inside = gap[1:-1].strip() if gap.startswith("[") else ""
    return inside if wanted(inside) else ""


def is_key(name: str) -> bool:
    """Whether `name`, where a citation key belongs, is one: no key are ``?``, ``TODO`` and what else people put there."""
    name = name.strip()
    return bool(name) and not _NO_KEY.fullmatch(name)


def noted(placeholder: str) -> str:
    """What stands where a key belongs and is none, as a note: the words behind ``TODO:``."""
    said = _TODO.sub("", placeholder, count=1).strip()
    return said if is_key(said) else ""
