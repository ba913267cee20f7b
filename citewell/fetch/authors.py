"""Which of the people whom a service lists under a name are meant.

Services keep one profile a person, and often several by mistake; a name finds profiles of namesakes too. All that bear the very
name are taken, and the user is told which they are, so that an id can narrow it down.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.errors import CitewellError
from citewell.fetch.client import Line

_WORD = re.compile(r"\w+")
_ORCID = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", re.ASCII | re.IGNORECASE)
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Profile:
    """One author as a service knows them."""

    id: str
    names: tuple[str, ...]
    """The name it shows, then others."""
    about: str = ""
    works: int = 0

    def __str__(self) -> str:
        return (
            f"{self.id} ({', '.join(filter(None, (self.names[0] if self.names else '', self.about, f'{self.works} papers')))})"
        )


def orcid(written: str) -> str:
    """The ORCID in what somebody wrote, or nothing."""
    found = _ORCID.fullmatch(written.strip())
    return found[1].upper() if found else ""


def meant(author: str, profiles: Iterable[Profile], line: Line) -> list[Profile]:
    """The profiles that bear the name, the most productive first."""
    listed = sorted(profiles, key=lambda profile: -profile.works)
    found = [profile for profile in listed if any(same_name(author, name) for name in profile.names)]
    if not found:
        near = "; ".join(map(str, listed[:_SHOWN])) or "nobody like that"
        raise CitewellError(
            f"{line.site.title} knows no author called {author!r}; it lists {near}: give a name or an id of these"
        )
    if len(found) > 1:
        rest = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        line.note(
            f"{len(found)} authors are called {author} at {line.site.title}, and the papers of all are taken: "
            f"{'; '.join(map(str, found[:_SHOWN]))}{rest}; --author with one of these ids takes that one's alone"
        )
    return found


def same_name(one: str, other: str) -> bool:
    """Whether two names may be one: first and last words agree, and what stands between does as far as both tell it."""
    first, second = _words(one), _words(other)
    if len(first) < 2 or len(second) < 2:
        return first == second
    between = zip(first[1:-1], second[1:-1], strict=False)
    return first[0] == second[0] and first[-1] == second[-1] and all(_agree(*pair) for pair in between)


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _words(name: str) -> list[str]:
    family, comma, given = name.partition(",")
    spelled = unicodedata.normalize("NFKD", f"{given} {family}" if comma else name)
    return _WORD.findall("".join(letter for letter in spelled if not unicodedata.combining(letter)).casefold())
