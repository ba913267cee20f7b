"""What readers do to values before they become part of a record.

Files hold anything in any field: numbers where text belongs, lone surrogates, null bytes, years like 99999. Every function
here takes whatever came and gives back a value of the type that the record wants, empty where there was nothing of use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2}|2100)(?!\d)", re.ASCII)
_DATE = re.compile(r"(1\d{3}|20\d{2}|2100)(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?(?!\d)", re.ASCII)
_INLINE_TAG = re.compile(
    r"</?(?:jats:)?(?:i|b|u|em|strong|sub|sup|sc|scp|span|italic|bold|underline|monospace|tt)(?:\s[\w:-]+=[^<>]*)?/?>",
    re.IGNORECASE,
)
_BLOCK_TAG = re.compile(
    r"</?(?:(?:jats|mml):[\w-]+|p|br|div|h\d|sec|title|ul|ol|li|inline-formula|abstract)(?:\s[\w:-]+=[^<>]*)?\s?/?>",
    re.IGNORECASE,
)

Json = dict[str, Any]


def text(value: object) -> str:
    """`value` on one line with single spaces; empty where it is neither text nor a number."""
    if isinstance(value, str):
        if value.isprintable() and "  " not in value:
            return value.strip()
        line = " ".join(value.split())
        return line if line.isprintable() else " ".join(_UNSAFE.sub("", line).split())
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        return ""
    return str(int(value)) if value == math.floor(value) else repr(value)


def lines(value: object) -> str:
    """`value` with its line breaks and spaces as they are, without what a database cannot store."""
    if not isinstance(value, str):
        return text(value)
    return value if value.isprintable() else _UNSAFE.sub("", value)


def untagged(value: object) -> str:
    """`text` of a value without markup such as ``<i>`` or ``<jats:p>``; other signs of less and greater stay."""
    found = text(value)
    return text(_BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", found))) if "<" in found else found


def year(value: object) -> int | None:
    """The year from 1000 to 2100 that `value` is or mentions first."""
    if isinstance(value, str):
        found = _YEAR.search(value[:1000])
        return int(found[0]) if found else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1000 <= value <= 2100:
        return None
    return int(value)


def date(value: object) -> str:
    """An ISO date, as exact as `value` begins with one: ``2020``, ``2020-05`` or ``2020-05-17``."""
    found = _DATE.match(value.strip()) if isinstance(value, str) else None
    return day(*found.groups()) if found else ""


def day(of_year: object, month: object = None, of_month: object = None) -> str:
    """The ISO date of a year, a month and a day, as far as each is known and possible."""
    parts = [f"{known:04d}"] if (known := year(of_year)) else []
    for part, most in ((month, 12), (of_month, 31)):
        number = text(part)
        if not parts or not (number.isascii() and number.isdigit() and len(number) < 3 and 1 <= int(number) <= most):
            break
        parts.append(f"{int(number):02d}")
    return "-".join(parts)


def mapping(value: object) -> Json:
    """`value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """`value` where it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def strings(value: object) -> list[str]:
    """The texts in a list, or the one text, each once and none empty."""
    return unique(map(text, value if isinstance(value, list) else [value]))


def unique(values: Iterable[str]) -> list[str]:
    """`values` in order, each once, without the empty ones."""
    return list(dict.fromkeys(filter(None, values)))


def listed_keywords(line: str) -> list[str]:
    """Keywords written on one line, between semicolons or else between commas."""
    return unique(part.strip() for part in line.split(";" if ";" in line else ","))


def name(value: object) -> str:
    """A person's or a body's name, given names first, from a string or from the parts that JSON formats have."""
    if not isinstance(value, dict):
        return text(value)
    for whole in ("name", "literal", "raw_name"):
        if found := text(value.get(whole)):
            return found
    parts = [value.get("given", value.get("first")), *sequence(value.get("middle"))]
    parts += [value.get("dropping-particle"), value.get("non-dropping-particle")]
    parts += [value.get("family", value.get("last")), value.get("suffix")]
    return " ".join(filter(None, map(text, parts)))


def names(value: object) -> list[str]:
    """The names in a list (see `name`), without the empty ones."""
    if isinstance(value, str | dict):
        value = [value]
    return [found for found in map(name, sequence(value)) if found]


def given_first(listed: str) -> str:
    """``Family, Given, Suffix`` as a reader would write it; a name without a comma stays."""
    family, comma, rest = listed.partition(",")
    if not comma:
        return listed.strip()
    first, _, second = rest.partition(",")
    return " ".join(filter(None, (first.strip(), family.strip(), second.strip())))
