"""Recognises gaps: the ways in which authors mark, in any format, that a citation is missing."""

from __future__ import annotations

import re

GAP = re.compile(
    r"\[\s*(?:\?+|@\?+|(?:TODO|FIXME|XXX)?\W{0,2}(?:add |insert |find |needs? )?(?:an? )?(?:citations?|cite|refs?|references?)"
    r"(?: (?:needed|missing|required|here|todo))?\s*[?!.]*)\s*\]"
    r"|\[\s*(?:TODO\W{0,2})?(?:cite|citations? (?:needed|for|of|to))\b[:\s](?:[^\[\]\n]|\n(?![\t\r\x20]*\n)){1,500}\]"
    r"|\((?:citations? (?:needed|missing|required)|citations?\?+|refs?\?+)\)"
    r"|\bTARGETCIT\b",
    re.IGNORECASE,
)
"""A gap in running text: ``[?]``, ``[CITATION]``, ``[citation needed]``, ``[cite Berg 1931]``, ``(ref?)`` and similar."""

_ASKS = re.compile(r"\b(?:re)?cit(?:e[sd]?|ing|ations?)\b|\brefs?\b|\breferences?\b|\bsources?\b", re.IGNORECASE)
_NOTE = re.compile(r"\W*(?:todo|fixme|xxx+|tbd|cite|citations?|refs?|references?|add|find|insert|needs?)\b", re.IGNORECASE)
_TODO = re.compile(r"^\W*(?:todo|fixme|xxx+|tbd|placeholder)?\W*", re.IGNORECASE)
_REQUEST_WORDS = re.compile(
    r"\[[^\[\]]*\]|\b(?:todo|fixme|xxx+|tbd|(?:re)?cit(?:e[sd]?|ing|ations?)|refs?|references?|sources?|papers?|add|insert|find|get"
    r"|look|needs?|needed|missing|required|please|here|there|this|that|these|some|something|someone|somebody|any|more|maybe"
    r"|perhaps|an?|the|for|to|of|on|about|by|from|with|we|i|should|must|which|what|who|e\.g|proper|good|right|check|up|or|others?|said)\b\.?"
    r"|[^\w\s.-]",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\?+|\.{2,}|…|-+|_+|(?:todo|xxx+|tbd|fixme|placeholder)(?:[:_\W].*)?|cite|citations?|refs?|references?|missing|needed"
    r"|citation\W?needed|key",
    re.IGNORECASE | re.DOTALL,
)


def asks_for_citation(note: str) -> bool:
    """Whether an author's note asks for a citation."""
    return bool(_ASKS.search(note))


def is_todo(note: str) -> bool:
    """Whether a comment is a note to oneself: it begins with TODO or a similar word, or with a request to cite."""
    return bool(_NOTE.match(note))


def named_work(note: str) -> str:
    """The work that a note names, without the request: "SciBERT" for "TODO: cite the SciBERT paper here"."""
    return " ".join(_REQUEST_WORDS.sub(" ", note).split())


def bracket_note(gap: str) -> str:
    """What a gap in brackets says about the missing work; empty where it names none."""
    inside = gap[1:-1].strip() if gap.startswith("[") else ""
    return inside if named_work(inside) else ""


def is_key(name: str) -> bool:
    """Whether `name` is a citation key, not a placeholder such as ``?`` or ``TODO``."""
    name = name.strip()
    return bool(name) and not _PLACEHOLDER.fullmatch(name)


def placeholder_note(placeholder: str) -> str:
    """The note in a placeholder that is used in place of a key: the words after ``TODO:``."""
    note = _TODO.sub("", placeholder, count=1).strip()
    return note if is_key(note) else ""
