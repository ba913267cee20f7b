"""Names as RIS and EndNote write them: ``Family, Given, Suffix``.

An organisation ends with a comma, and the first comma inside its name is doubled; both are EndNote's rules. RIS cannot tell the
words of a family name from a particle or from given names. Where the usual reading would be wrong, the words of the family name
are joined by no-break spaces, and a narrow no-break space separates the particle. Other programs show both as spaces.
"""

from __future__ import annotations

import re

from citewell.papers import OTHERS, Name
from citewell.text.names import cleaned, is_et_al, is_junior, literal, parse, person, split_particle

_JOINED = "\u00a0"
_AFTER_PARTICLE = "\u202f"
_INITIALS_LAST = re.compile(r"([^\W\d_][^\s.]*(?: [^\s.]+)*) ((?:[^\W\d_a-z]\.[ -]?){1,4})")
"""``Lund A.B.``, as Embase and Scopus write the names of authors and editors."""


def read_name(value: str) -> Name:
    """The name in a value of RIS."""
    value = value.strip(" \t\r\n")
    if is_et_al(value):
        return OTHERS
    if ",," in value:
        return literal(value.replace(",,", ",", 1))
    parts = value.split(",")
    if len(parts) == 1:
        return _family_name(value) if _is_joined(value) else _without_comma(value)
    if len(parts) == 2 and not parts[1].strip():
        return literal(parts[0])
    if len(parts) == 2 and is_junior(parts[1].strip()):
        return parse(value)  # Martin Luther King, Jr.
    family, given, suffix = parts[0], parts[1], " ".join(parts[2:])
    if not _is_joined(family):
        return person(family, given, suffix)
    name = person("x", given, suffix)
    of_family = _family_name(family)
    return name._replace(family=of_family.family, particle=of_family.particle)


def write_name(name: Name) -> str:
    """The value of RIS from which `read_name` makes the same name."""
    if name == OTHERS:
        return "et al.,"
    if name.literal:
        return name.literal.replace(",", ",,", 1) if "," in name.literal else f"{name.literal},"
    family = f"{name.particle} {name.family}" if name.particle else name.family
    after = (name.given, name.suffix) if name.suffix else (name.given,) if name.given else ()
    rest = "".join(f", {part}" for part in after)
    usual = _without_comma(family) == name if not rest else split_particle(family) == (name.particle, name.family)
    return (family if usual else _joined(name)) + rest


def _without_comma(value: str) -> Name:
    short = _INITIALS_LAST.fullmatch(value)
    return parse(f"{short[1]}, {short[2]}" if short else value)


def _joined(name: Name) -> str:
    particle, family = (part.replace(" ", _JOINED) for part in (name.particle, name.family))
    return f"{particle}{_AFTER_PARTICLE}{family}" if particle else family


def _is_joined(value: str) -> bool:
    """Whether a value is one word, made of several by no-break spaces."""
    return (_JOINED in value or _AFTER_PARTICLE in value) and " " not in value.strip(" ")


def _family_name(value: str) -> Name:
    particle, separator, family = value.partition(_AFTER_PARTICLE)
    if not separator:
        particle, family = "", value
    return Name(family=cleaned(family), particle=cleaned(particle))
