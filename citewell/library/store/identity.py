"""Identity: whether two records describe the same paper.

They do if they share an identifier, unless it is that of a book which its chapters have been given. Otherwise they do if their
normalised titles are equal, they share an author, and their years differ by at most one, unless one is a chapter and the other
a book, only one is an abstract, they are at different places of one journal ("Editorial"), different volumes of a book, or
different records of one database.

A paper that was merged from several records is compared by all their titles, authors and years, so the result does not depend
on the order of the records. A record with neither an identifier nor enough to compare gets an identifier made from its content,
so adding a file twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from citewell.hashing import hash64
from citewell.identifiers import implied
from citewell.papers import OTHERS, Paper, Reference
from citewell.text.fold import folded

_WORD = re.compile(r"[^\W_]+")
_ALIKE = 0.6
"""The share of the words of two titles from which on they may be titles of one chapter."""
_ONE_EACH = ("pmid:", "wos:", "acl:")
"""The schemes of databases that have one record of a work."""
_DIGITS = re.compile(r"\d+")
_CHAPTER = frozenset(("incollection", "inbook", "chapter", "chap", "suppbook", "section"))
_BOOK = frozenset(("book", "mvbook", "monograph", "proceedings", "collection", "mvcollection", "mvproceedings"))
_ABSTRACT = frozenset(("abstract", "poster"))
_ABSTRACT_TITLE = re.compile(r"[(\[](?:meeting |conference )?abstract[)\]]", re.IGNORECASE)


GROUP = "group:"
"""The scheme of identifiers for what the user has put together or taken apart."""


def group_key(group: str) -> str:
    """The identifier of a group of records that the user has made."""
    return f"{GROUP}{group}"


def title_key(title: str) -> int | None:
    """A number that titles share when they differ only in case, accents, punctuation and spacing; None for no title."""
    words = " ".join(_WORD.findall(folded(title)))
    return hash64(words) if words else None


class Signature(NamedTuple):
    """What papers without a common identifier are compared by."""

    titles: set[int]
    """The `title_key` of every title that a source gave."""
    years: set[int]
    families: set[str]


def same_years(years: Iterable[int], other_years: Iterable[int]) -> bool:
    """Whether any two differ by at most one."""
    return any(abs(year - other_year) <= 1 for year in years for other_year in other_years)


def same_work(one: Signature, other: Signature) -> bool:
    """Whether two papers are the same although they share no identifier."""
    return (
        not one.titles.isdisjoint(other.titles)
        and not one.families.isdisjoint(other.families)
        and same_years(one.years, other.years)
    )


def conflict(one: Paper, other: Paper, by_identifier: bool) -> bool:
    """Whether two records cannot be the same work, although they share an identifier, or their title and an author."""
    kinds = {_kind(one), _kind(other)}
    apart = kinds == {"chapter", "book"} or (len(kinds) == 2 and "abstract" in kinds)
    if not by_identifier:
        return apart or _numbered_apart(one, other) or _placed_apart(one, other, kinds == {"book"})
    if not one.title or not other.title or title_key(one.title) == title_key(other.title):
        return False
    # Chapters often have the identifier of their book.
    return title_overlap(one.title, other.title) < (1 if apart else _ALIKE if kinds == {"chapter"} else 0)


def _numbered_apart(one: Paper, other: Paper) -> bool:
    """Whether a database has a record for each of them."""
    for scheme in _ONE_EACH:
        ids, other_ids = ({key for key in paper.ids if key.startswith(scheme)} for paper in (one, other))
        if ids and other_ids and ids.isdisjoint(other_ids):
            return True
    return False


def _placed_apart(one: Paper, other: Paper, books: bool) -> bool:
    """Whether two books are different volumes, or two articles at different places of one journal."""
    volume, other_volume = (_volume(paper.extra.get("volume", "")) for paper in (one, other))
    if volume and other_volume and volume != other_volume and (books or _same_venue(one, other)):
        return True
    page, other_page = (_number(paper.extra.get("pages", "")) for paper in (one, other))
    return bool(page and other_page and page != other_page) and _same_venue(one, other)


def _same_venue(one: Paper, other: Paper) -> bool:
    return bool(one.venue) and title_key(one.venue) == title_key(other.venue)


def _volume(value: str) -> str:
    """A volume by its number, in Roman numerals or words as they are."""
    return _number(value) or folded(value)


def _number(value: str) -> str:
    """The first number in a volume or in pages."""
    match = _DIGITS.search(value)
    return match[0].lstrip("0") if match else ""


def title_overlap(title: str, other: str) -> float:
    """The share of the words of the shorter title that the longer one has too."""
    words, other_words = set(_WORD.findall(folded(title))), set(_WORD.findall(folded(other)))
    return len(words & other_words) / max(1, min(len(words), len(other_words)))


def _kind(paper: Paper) -> str:
    """``chapter``, ``book`` or ``abstract``; empty for other works."""
    words = set(_WORD.findall(f"{paper.extra.get('type', '')} {paper.extra.get('genre', '')}".lower()))
    if words & _ABSTRACT or _ABSTRACT_TITLE.search(paper.title):
        return "abstract"
    if words & _CHAPTER:
        return "chapter"
    return "book" if words & _BOOK else ""


def _expanded(ids: list[str]) -> list[str]:
    """Identifiers and what they imply, each once."""
    if len(ids) == 1:
        return implied(ids[0])
    return list(dict.fromkeys(key for given in ids for key in implied(given)))


def is_supplement(paper: Paper) -> bool:
    """Whether a record only adds to the record with the same citation key in another file, because it names no work itself."""
    return not (paper.title or paper.ids or paper.id) and bool(paper.extra.get("citekey"))


def paper_keys(paper: Paper) -> list[str]:
    """Every identifier that makes another record the same paper; never empty."""
    keys = _expanded(paper.ids)
    if not keys:
        authors = (str(author) for author in paper.authors if author != OTHERS)
        place = (_number(paper.extra.get(name, "")) for name in ("volume", "pages"))
        content = hash64(paper.title, *authors, str(paper.year), paper.venue, *place, paper.extra.get("citekey", ""), paper.id)
        keys.append(f"record:{content & 0xFFFFFFFFFFFFFFFF:016x}")
    return keys


def reference_ids(reference: Reference) -> list[str]:
    """The identifiers of a reference, the most reliable first."""
    return _expanded(reference.ids)


def reference_title(reference: Reference) -> int | None:
    """The title key that a reference is matched by; None if it has no year."""
    return title_key(reference.title) if reference.year is not None else None


def title_name(title: int) -> str:
    """A `title_key` in the form of an identifier; without a colon, so that it equals no real one."""
    return f"title={title}"


def waiting_keys(reference: Reference, ids: list[str], title: int | None) -> list[str]:
    """The keys under which an unresolved reference is stored: its ids and title, else a key that no paper has."""
    if title is not None:
        return [*ids, title_name(title)]
    return ids or [f"untraceable={hash64(reference.title, *reference.authors)}"]


def reference_hash(keys: list[str], year: int | None) -> int:
    """The hash that distinguishes the references of a paper: of their keys, and of the year if there is a title."""
    if keys[-1].startswith("title="):
        return hash64(*sorted(keys), str(year))
    return hash64(keys[0]) if len(keys) == 1 else hash64(*sorted(keys))
