"""Names in JSON formats: texts, the objects of CSL (given, family, suffix, literal ...) and similar ones of other services."""

from __future__ import annotations

from citewell.papers import Name
from citewell.sources.clean import mapping, sequence, text
from citewell.text.names import literal, parse, parse_all, person

_PARTS = frozenset(("given", "family", "literal", "non-dropping-particle", "dropping-particle"))


def name(value: object) -> Name:
    """The name in a text or an object; empty if there is none."""
    if not isinstance(value, dict):
        return parse(text(value))
    if whole := text(value.get("literal")):
        return literal(whole)
    family, given = text(value.get("family", value.get("last"))), text(value.get("given", value.get("first")))
    if not family and not given:
        return parse(text(value.get("name")) or text(value.get("raw_name")))
    given = " ".join(filter(None, (given, *map(text, sequence(value.get("middle"))))))
    particles = (text(value.get(each)) for each in ("dropping-particle", "non-dropping-particle", "particle"))
    # Our own lines and CSL can say that a family name such as "de la Cruz" has no particle.
    split = value.get("parse-names") is not False and "particle" not in value
    return person(family, given, text(value.get("suffix")), " ".join(filter(None, particles)), split=split)


def names(value: object) -> list[Name]:
    """The names in a list, without the empty ones."""
    listed = [value] if isinstance(value, str | dict) else sequence(value)
    return parse_all(name(each) if isinstance(each, dict) else text(each) for each in listed)


def readable_names(value: object) -> list[str]:
    """As `names`, given names first; texts stay as they are."""
    listed = [value] if isinstance(value, str | dict) else sequence(value)
    return [shown for each in listed if (shown := text(each) if not isinstance(each, dict) else str(name(each)))]


def are_people(value: object) -> bool:
    """Whether `value` is a list of objects that are names."""
    listed = sequence(value)
    return bool(listed) and all(not _PARTS.isdisjoint(mapping(each)) for each in listed)
