"""When are two records the same paper?

They are if they share an identifier. Without one they are if their normalised titles are the same, they share an author, and
their years are at most one apart. A paper that was merged from several records has all their titles, authors and years to be
known by: what is the same can then not depend on the order in which records come. A record that has neither an identifier nor
enough to compare is at least the same as itself: it gets an identifier made of what it says, so that adding a file twice
changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from citewell.hashing import hash64
from citewell.identifiers import implied
from citewell.papers import Paper, Reference
from citewell.text.fold import folded

_WORD = re.compile(r"[^\W_]+")


def title_key(title: str) -> int | None:
    """A number that titles share when they differ only in case, accents, punctuation and spacing; None for no title."""
    words = " ".join(_WORD.findall(folded(title)))
    return hash64(words) if words else None


class Face(NamedTuple):
    """What a paper is known by where it shares no identifier."""

    titles: set[int]
    """The `title_key` of every title that some source gave it."""
    years: set[int]
    families: set[str]


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
