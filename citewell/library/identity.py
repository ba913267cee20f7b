"""When are two records the same paper?

They are if they share an identifier. Without one they are if their normalised titles are the same, they share an author, and
their years are at most one apart. A record that has neither an identifier nor enough to compare is at least the same as itself:
it gets an identifier made of what it says, so that adding a file twice changes nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

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


def same_years(one: int | None, other: int | None) -> bool:
    """Both known and at most one apart."""
    return one is not None and other is not None and abs(one - other) <= 1


def share_author(one: Iterable[str], other: Iterable[str]) -> bool:
    families = {family_name(author) for author in one} - {""}
    return any(family_name(author) in families for author in other)


def same_work(one: Paper, other: Paper) -> bool:
    """Whether two papers with the same `title_key` are the same work."""
    return same_years(one.year, other.year) and share_author(one.authors, other.authors)


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


def reference_keys(reference: Reference) -> list[str]:
    """What a reference can be found by, the surest first: its identifiers, then its title where it has a year too."""
    keys = _expanded(reference.ids)
    if reference.year is not None and (title := title_key(reference.title)) is not None:
        keys.append(f"title:{title}")
    return keys
