r"""Names as BibTeX reads them: ``von Family, Suffix, Given``, with braces where its grammar would misread a part.

A family name with a lower-case word before its last one is in braces, because BibTeX takes such words for the particle. A
particle with a capital letter is ``{\uppercase{v}an}``: a lower-case word for BibTeX, which TeX prints as "Van". The few
names that this cannot express are written as BibLaTeX's ``family=..., given=...``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.export.latex import escaped
from citewell.papers import OTHERS, Name
from citewell.sources.bibtex_names import people
from citewell.text.names import is_lower

_WORD = r"(?!(?i:and|jr|sr|jnr|snr)\b)[A-Z][\w.'’-]*"
_PLAIN = re.compile(rf"{_WORD}(?: {_WORD})*, {_WORD}(?: {_WORD})*")
"""Names that need no braces, which are most."""
_UNSAFE = re.compile(r"[,;=]|(?:^|\s)and(?:\s|$)", re.IGNORECASE)


def name_list(names: Iterable[Name]) -> str:
    """The value of a field such as ``author``."""
    written = list(names)
    value = " and ".join(map(_name, written))
    # One name with two commas may look like a list of names that somebody wrote with commas for "and".
    return _extended(written[0]) if len(written) == 1 and written[0] != OTHERS and people(value) != written else value


def _name(name: Name) -> str:
    if name == OTHERS:
        return "others"
    if name.literal:
        return f"{{{escaped(name.literal)}}}"
    if not (name.particle or name.suffix) and _PLAIN.fullmatch(plain := f"{name.family}, {name.given}"):
        return escaped(plain)
    written = _family_first(name) if name.given or name.suffix else _family_only(name)
    return written if people(f"X and {written} and X")[1:-1] == [name] else _extended(name)


def _family_first(name: Name) -> str:
    parts = [" ".join(filter(None, (_particle(name.particle), _family(name.family))))]
    if name.suffix:
        parts.append(_guarded(name.suffix))
    # BibTeX ignores a comma at the end of a name, so that the suffix would become the given name.
    parts.append(_guarded(name.given) or "{}")
    return ", ".join(parts)


def _family_only(name: Name) -> str:
    """A name without given names; braces round its spaces make it one word, and the last word is the family name."""
    family = escaped(name.family).replace(" ", "{ }")
    return f"{_particle(name.particle)} {family}" if name.particle else family


def _family(family: str) -> str:
    words = family.split(" ")
    misread = any(map(is_lower, words[:-1])) or _UNSAFE.search(family)
    return f"{{{escaped(family)}}}" if misread else escaped(family)


def _particle(particle: str) -> str:
    return " ".join(_lowered(word) for word in particle.split(" ")) if particle else ""


def _lowered(word: str) -> str:
    """A word of a particle as one that BibTeX takes for lower-case."""
    if is_lower(word) or not word[0].isalpha():
        return escaped(word)
    return f"{{\\uppercase{{{word[0].lower()}}}{escaped(word[1:])}}}"


def _guarded(part: str) -> str:
    return f"{{{escaped(part)}}}" if _UNSAFE.search(part) else escaped(part)


def _extended(name: Name) -> str:
    parts = {"family": name.family, "given": name.given, "prefix": name.particle, "suffix": name.suffix}
    return ", ".join(f"{key}={{{escaped(value)}}}" for key, value in parts.items() if value)
