"""Author profiles that match a name.

Services keep one profile per person, and often several by mistake; a search for a name also finds other people. Every profile
with exactly the name is used, and the user sees which these are, so that an id can narrow the search down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.errors import CitewellError
from citewell.fetch.client import Client
from citewell.text.fold import folded_name

_WORD = re.compile(r"\w+")
_ORCID = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", re.ASCII | re.IGNORECASE)
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Profile:
    """One author in the database of a service."""

    id: str
    names: tuple[str, ...]
    """The display name, then alternative names."""
    about: str = ""
    works: int = 0

    def __str__(self) -> str:
        return (
            f"{self.id} ({', '.join(filter(None, (self.names[0] if self.names else '', self.about, f'{self.works} papers')))})"
        )


def orcid(author: str) -> str:
    """The ORCID that `author` is, as a number or a URL, or an empty string."""
    match = _ORCID.fullmatch(author.strip())
    return match[1].upper() if match else ""


def matching_profiles(author: str, profiles: Iterable[Profile], client: Client) -> list[Profile]:
    """The profiles with the name `author`, those with the most papers first."""
    listed = sorted(profiles, key=lambda profile: -profile.works)
    matches = [profile for profile in listed if any(same_name(author, name) for name in profile.names)]
    if not matches:
        near = "; ".join(map(str, listed[:_SHOWN])) or "no similar name"
        raise CitewellError(
            f"{client.site.title} has no author called {author!r}, but lists {near}; use one of these names or ids"
        )
    if len(matches) > 1:
        rest = f" and {len(matches) - _SHOWN} more" if len(matches) > _SHOWN else ""
        client.note(
            f"{client.site.title} lists {len(matches)} authors called {author}; their papers are all fetched: "
            f"{'; '.join(map(str, matches[:_SHOWN]))}{rest}. Use --author with one of these ids to fetch only that author's."
        )
    return matches


def same_name(one: str, other: str) -> bool:
    """Whether two names may belong to one person: first and last words agree, and the middle ones where both have them."""
    first, second = _words(one), _words(other)
    if len(first) < 2 or len(second) < 2:
        return first == second
    between = zip(first[1:-1], second[1:-1], strict=False)
    return first[0] == second[0] and first[-1] == second[-1] and all(_agree(*pair) for pair in between)


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _words(name: str) -> list[str]:
    family, comma, given = name.partition(",")
    return _WORD.findall(folded_name(f"{given} {family}" if comma else name))
