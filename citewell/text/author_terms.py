"""Authors for retrieval and identity: folded family names, and terms for the index."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.papers import OTHERS, Name
from citewell.text.fold import folded

_WORD = re.compile(r"[^\W_]+")


def family_name(author: Name) -> str:
    """The last word of the family name or of the organisation, folded: sources differ in how many words belong to it."""
    if author == OTHERS:
        return ""
    name = author.literal or author.family
    if "." in name:
        name = name.replace(".", " ").rstrip()
    return folded(name.rpartition(" ")[2])


def author_terms(author: Name) -> list[str]:
    """The index terms of an author: the family name, and the family name with the first letter of the given name, if any.

    Each contains a digit, so that text analysis does not stem it.
    """
    family = _letters(family_name(author))
    if not family:
        return []
    first = folded(_letters(_before_family(author))[:1])[:1]
    return [f"{family}0", f"{family}0{first}"] if first else [f"{family}0"]


def _letters(text: str) -> str:
    return text if text.isalnum() else "".join(_WORD.findall(text))


def authors_text(authors: Iterable[Name]) -> str:
    """Authors as a text to index or to search for."""
    return " ".join(dict.fromkeys(term for author in authors for term in author_terms(author)))


def families(authors: Iterable[Name]) -> set[str]:
    """The family names of authors."""
    return {family for author in authors if (family := family_name(author))}


def _before_family(author: Name) -> str:
    """What precedes the last word of the family name in the readable form."""
    return author.given or author.particle or (author.literal or author.family).rpartition(" ")[0]
