"""When are two records the same paper?

They are if they share an identifier. Without one they are if their normalised titles are the same, they share an author, and
their years are at most one apart. A paper that was merged from several records has all their titles, authors and years to be
known by: what is the same can then not depend on the order in which records come. A record that has neither an identifier nor
enough to compare is at least the same as itself: it gets an identifier made of what it says, so that adding a file twice
changes nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from citewell.identifiers import implied
from citewell.papers import Paper, Reference

_MARKS = re.compile(r"[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")


def hash64(*parts: str) -> int:
    """A signed 64-bit number for some text, the same in every process; fits a SQLite integer."""
    return int.from_bytes(blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text)).casefold()


def title_key(title: str) -> int | None:
    """A number that titles share when they differ only in case, accents, punctuation and spacing; None for no title."""
    words = " ".join(_WORD.findall(_folded(title)))
    return hash64(words) if words else None


def family_name(author: str) -> str:
    """The folded family name of an author written ``Given Family`` or ``Family, Given``."""
    name, comma, _ = author.partition(",")
    words = _folded(name).replace(".", " ").split()
    if not comma and len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words[-1] if words else ""


def author_terms(author: str) -> list[str]:
    """What an author can be found by: the family name, and that with the first letter of the given one, where there is one.

    A digit stands in each, so that the analysis of text keeps them as they are.
    """
    family = "".join(_WORD.findall(family_name(author)))
    if not family:
        return []
    name, comma, given = author.partition(",")
    words = [word for word in name.split() if not word.isdigit()]
    first = "".join(_WORD.findall(_folded(given if comma else " ".join(words[:-1]))))[:1]
    return [f"{family}0", f"{family}0{first}"] if first else [f"{family}0"]


def authors_text(authors: Iterable[str]) -> str:
    """Authors as a text to index or to search by; several names in one string count each."""
    names = (name for author in authors for name in author.split(";"))
    return " ".join(dict.fromkeys(term for name in names for term in author_terms(name)))


class Face(NamedTuple):
    """What a paper is known by where it shares no identifier."""

    titles: set[int]
    """The `title_key` of every title that some source gave it."""
    years: set[int]
    families: set[str]


def families(authors: Iterable[str]) -> set[str]:
    """The family names of authors; several names in one string count each."""
    return {family for author in authors for name in author.split(";") if (family := family_name(name))}


def same_years(some: Iterable[int], others: Iterable[int]) -> bool:
    """Whether any two are at most one apart."""
    return any(abs(one - other) <= 1 for one in some for other in others)


def same_work(one: Face, other: Face) -> bool:
    """Whether two papers are the same although they share no identifier."""
    return (
        not one.titles.isdisjoint(other.titles)
        and not one.families.isdisjoint(other.families)
        and same_years(one.years, other.years)
    )


def _expanded(ids: list[str]) -> list[str]:
    """Identifiers and what they imply, each once."""
    if len(ids) == 1:
        return implied(ids[0])
    return list(dict.fromkeys(key for given in ids for key in implied(given)))


def paper_keys(paper: Paper) -> list[str]:
    """Every identifier that makes another record the same paper; never empty."""
    keys = _expanded(paper.ids)
    if not keys:
        said = hash64(paper.title, *paper.authors, str(paper.year), paper.venue, paper.extra.get("citekey", ""), paper.id)
        keys.append(f"record:{said & 0xFFFFFFFFFFFFFFFF:016x}")
    return keys


def reference_ids(reference: Reference) -> list[str]:
    """The identifiers that a reference can be found by, the surest first."""
    return _expanded(reference.ids)


def reference_title(reference: Reference) -> int | None:
    """The title that a reference can be found by; None where it has no year to go with it."""
    return title_key(reference.title) if reference.year is not None else None


def title_name(title: int) -> str:
    """How a `title_key` is written where identifiers are; without a colon, so that no identifier can be taken for it."""
    return f"title={title}"


def waiting_keys(reference: Reference, ids: list[str], title: int | None) -> list[str]:
    """What a reference waits under, its ids and its title; one that says too little waits under a key that never comes."""
    if title is not None:
        return [*ids, title_name(title)]
    return ids or [f"untraceable={hash64(reference.title, *reference.authors)}"]


def reference_hash(keys: list[str], year: int | None) -> int:
    """What tells the references of a paper apart: the keys they wait under, and the year that goes with a title."""
    if keys[-1].startswith("title="):
        return hash64(*sorted(keys), str(year))
    return hash64(keys[0]) if len(keys) == 1 else hash64(*sorted(keys))
