"""Author names for retrieval: folded family names, and terms for the index."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.text.fold import folded

_WORD = re.compile(r"[^\W_]+")


def family_name(author: str) -> str:
    """The folded family name of an author written ``Given Family`` or ``Family, Given``."""
    name, comma, _ = author.partition(",")
    words = folded(name).replace(".", " ").split()
    if not comma and len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words[-1] if words else ""


def author_terms(author: str) -> list[str]:
    """The index terms of an author: the family name, and the family name with the first letter of the given name, if any.

    Each contains a digit, so that text analysis does not stem it.
    """
    family = "".join(_WORD.findall(family_name(author)))
    if not family:
        return []
    name, comma, given = author.partition(",")
    words = [word for word in name.split() if not word.isdigit()]
    first = "".join(_WORD.findall(folded(given if comma else " ".join(words[:-1]))))[:1]
    return [f"{family}0", f"{family}0{first}"] if first else [f"{family}0"]


def authors_text(authors: Iterable[str]) -> str:
    """Authors as a text to index or to search for; a string may contain several names."""
    names = (name for author in authors for name in author.split(";"))
    return " ".join(dict.fromkeys(term for name in names for term in author_terms(name)))


def families(authors: Iterable[str]) -> set[str]:
    """The family names of authors; a string may contain several names."""
    return {family for author in authors for name in author.split(";") if (family := family_name(name))}
