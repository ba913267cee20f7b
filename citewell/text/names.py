"""Names of people and organisations: from text or parts to a `Name`, and its short form for storage.

`parse` reads a name as people write it, given names first. `person` takes parts that a source already separated. Both decode
HTML entities and normalise what sources get wrong, so that a `Name` can be written to any format and read back.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from citewell.papers import OTHERS, Name

_OLD_ROLES = {
    "bookauthor": "container-author",
    **{role: role for role in ("editor", "translator", "collection-editor", "container-author", "reviewed-author")},
}
"""The fields of `Paper.extra` that had names before `Paper.people`, and their roles."""

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PLAIN = re.compile(r"(?:[A-ZÀ-ÖØ-Þ][\w.'’-]*+ )++[A-ZÀ-ÖØ-Þ][\w'’-]*+")
_JUNIOR = frozenset(("jr", "jr.", "sr", "sr.", "jnr", "jnr.", "snr", "snr."))
_INITIALS = frozenset(("JR", "SR"))
"""What in capitals and without a full stop is more often the initials of somebody: ``Peters, JR``."""
_SUFFIXES = _JUNIOR | frozenset(("ii", "iii", "iv", "2nd", "3rd", "4th"))
_ET_AL = frozenset(("et al", "et al.", "et. al", "et. al.", "others", "and others", "& others"))
_COLLECTIVE = frozenset(
    {"agency", "association", "bureau", "centre", "collaboration", "commission", "committee", "consortium", "corporation"}
    | {"department", "foundation", "gmbh", "group", "inc", "initiative", "institute", "institut", "investigators"}
    | {"laboratory", "llc", "ltd", "ministry", "network", "organisation", "organization", "society", "team", "university"}
)
_SPECIAL = _COLLECTIVE | _SUFFIXES | {"the"}
_CONNECTIVES = frozenset(("of", "for", "and", "&", "on"))
_COMPOUNDS = frozenset(("y", "e", "i"))
"""Words that join two family names: Ortega y Gasset."""
_PARTICLES = frozenset("al af av bin da de del della den der di do dos du el ibn la le ten ter van vom von zu zum zur".split())


def parse(text: str) -> Name:
    """The name in `text`, which is written ``Given particle Family Suffix`` or ``Family, Given, Suffix``."""
    # Most names are of this form, and imports parse millions.
    if _PLAIN.fullmatch(text):
        given, _, family = text.rpartition(" ")
        if family.lower() not in _SPECIAL and given.partition(" ")[0].lower() not in _SPECIAL:
            return Name(given, family)
    return _parse(text)


@lru_cache(maxsize=1 << 14)
def _parse(text: str) -> Name:
    line = cleaned(text)
    return _inverted(line) if "," in line else natural(line)


def person(family: str, given: str = "", suffix: str = "", particle: str = "", *, split: bool = True) -> Name:
    """The person with these parts; lower-case words that `family` begins with are the particle, if there is no other.

    Without `split` they belong to the family name.
    """
    family, given, suffix, particle = map(cleaned, (family, given, suffix, particle))
    if "," in family and not given and not suffix:
        return parse(family)
    family, junior = _without_suffix(family)
    given, other_junior = _without_suffix(given)
    suffix, particle = _without_commas(suffix) or junior or other_junior, _without_commas(particle)
    if suffix and is_suffix(given) and not is_suffix(suffix):
        given, suffix = suffix, given
    if not suffix and (is_junior(given) or (" " in given and is_suffix(given.rpartition(" ")[2]))):
        given, _, suffix = given.rpartition(" ")
    if not family:
        family, given = given, ""
    if not family:
        family, particle = particle, ""
    if not (given or particle or suffix) and family.lower() in _ET_AL:
        return OTHERS
    if split and not particle:
        particle, family = split_particle(family)
    return Name(given, family, particle, suffix)


def literal(text: str) -> Name:
    """The organisation, or the name without parts, that is called `text`."""
    line = cleaned(text)
    return OTHERS if line.lower() in _ET_AL else Name(literal=line)


def split_particle(family: str) -> tuple[str, str]:
    """The lower-case words at the start of a family name, and the rest, which is never empty."""
    if " " not in family or not is_lower(family):
        return "", family
    words = family.split(" ")
    end = next((at for at, word in enumerate(words[:-1]) if not is_lower(word)), len(words) - 1)
    return " ".join(words[:end]), " ".join(words[end:])


def natural(line: str) -> Name:
    """The name in a clean line without commas, given names first."""
    if line.lower() in _ET_AL:
        return OTHERS
    words = line.split(" ")
    lower = [is_lower(word) for word in words]
    if all(lower) and words[0] not in _PARTICLES:
        lower = [False] * len(words)  # somebody who writes all names in lower case
    name = arranged(words, lower)
    if name.particle in _COMPOUNDS and " " in name.given:
        given, _, first = name.given.rpartition(" ")
        return Name(given, f"{first} {name.particle} {name.family}", "", name.suffix)
    return name


def arranged(words: Sequence[str], lower: Sequence[bool]) -> Name:
    """The name with these words, given names first; `lower` says which of them begin with a lower-case letter."""
    if is_collective(words):
        return Name(literal=" ".join(words))
    suffix = ""
    if len(words) > 1 and (is_junior(words[-1]) or (len(words) > 2 and is_suffix(words[-1]))):
        suffix, words, lower = words[-1], words[:-1], lower[:-1]
    elif len(words) > 2 and is_junior(words[-2]):  # A. B. Jr. Lund
        suffix, words, lower = words[-2], [*words[:-2], words[-1]], [*lower[:-2], lower[-1]]
    begin, end = _particle_bounds(lower)
    return Name(" ".join(words[:begin]), " ".join(words[end:]), " ".join(words[begin:end]), suffix)


def is_lower(word: str) -> bool:
    """Whether the first letter of `word` is in lower case."""
    for character in word:
        if character.isalpha():
            return character.islower()
    return False


def is_suffix(word: str) -> bool:
    """Whether `word` follows a family name: ``Jr.``, ``III``, or the number that DBLP gives to people with the same name."""
    return word.lower() in _SUFFIXES or (len(word) == 4 and word.isdecimal())


def is_junior(word: str) -> bool:
    """Whether `word` is a suffix that cannot be the initials of somebody, as ``II`` and ``JR`` can."""
    return word.lower() in _JUNIOR and word not in _INITIALS


def is_collective(words: Sequence[str]) -> bool:
    """Whether these words, in reading order, are the name of an organisation or a group."""
    if len(words) < 2:
        return False
    return (
        words[0] == "The"
        or words[-1].rstrip(".").lower() in _COLLECTIVE
        or words[0].lower() in _COLLECTIVE
        or not _CONNECTIVES.isdisjoint(words[1:-1])
    )


def is_et_al(text: str) -> bool:
    """Whether `text` stands for the names that an open list leaves out."""
    return text.strip(" ,").lower() in _ET_AL


def cleaned(text: str) -> str:
    """`text` on one line, with HTML entities decoded and without commas at its ends."""
    for _ in range(3 if "&" in text else 0):  # some sources encode twice
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    return " ".join(text.split()).strip(" ,")


def compact(name: Name) -> str | Name:
    """The readable form of `name` if `parse_all` makes the same name of that, else its parts."""
    text = str(name)
    return text if parse(text) == name and ";" not in text else name


def parse_all(texts: Iterable[str | Name]) -> list[Name]:
    """The names in texts, each of which may have several with semicolons between them; a `Name` stays as it is."""
    names: list[Name] = []
    for each in texts:
        if not isinstance(each, str):
            names.append(each)
        elif ";" not in each:
            names.append(parse(each))
        else:
            names += [parse(part) for part in cleaned(each).split(";")]
    return [name for name in names if any(name)]


def take_people(extra: dict[str, str]) -> dict[str, list[Name]]:
    """Remove from an `extra` the people that were in it before `Paper.people`, names with semicolons between them, by role."""
    if extra.keys().isdisjoint(_OLD_ROLES):
        return {}
    listed = {role: parse_all([extra.pop(field)]) for field, role in _OLD_ROLES.items() if field in extra}
    return {role: names for role, names in listed.items() if names}


def _particle_bounds(lower: Sequence[bool]) -> tuple[int, int]:
    """Where the particle begins and ends in a name whose given names come first, as BibTeX defines it.

    The particle reaches from the first lower-case word to the last, and the last word of a name is always in the family name.
    """
    places = [at for at, is_low in enumerate(lower[:-1]) if is_low]
    return (places[0], places[-1] + 1) if places else (len(lower) - 1, len(lower) - 1)


def _inverted(line: str) -> Name:
    """The name in a line with commas; what is no person's name stays as it is."""
    parts = [part.strip() for part in line.split(",")]
    if is_collective(parts[0].split()) or "" in parts or len(parts) > 3:
        return literal(line)
    if len(parts) == 2 and is_suffix(parts[1]) and parts[1] not in _INITIALS:
        return natural(parts[0])._replace(suffix=parts[1])
    if len(parts) == 3 and not (is_suffix(parts[1]) or is_suffix(parts[2])):
        return literal(line)
    return person(*parts)


def _without_suffix(part: str) -> tuple[str, str]:
    """A part without commas, and the suffix that a source put behind one: ``King, Jr.``."""
    before, comma, last = part.rpartition(",")
    if comma and is_suffix(last.strip()):
        return _without_commas(before), last.strip()
    return _without_commas(part), ""


def _without_commas(part: str) -> str:
    return " ".join(part.replace(",", " ").split()) if "," in part else part
