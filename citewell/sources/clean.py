"""Cleaning of values before they become part of a record.

Files contain anything in any field: numbers instead of text, lone surrogates, null bytes, years like 99999. Every function here
accepts any value and returns one of the type that the record needs, empty if the input is unusable.
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
    """`value` on one line with single spaces; empty if it is neither text nor a number."""
    if isinstance(value, str):
        if value.isprintable() and "  " not in value:
            return value.strip()
        line = " ".join(value.split())
        return line if line.isprintable() else " ".join(_UNSAFE.sub("", line).split())
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        return ""
    return str(int(value)) if value == math.floor(value) else repr(value)


def lines(value: object) -> str:
    """`value` with its line breaks and spaces, without characters that a database cannot store."""
    if not isinstance(value, str):
        return text(value)
    return value if value.isprintable() else _UNSAFE.sub("", value)


def untagged(value: object) -> str:
    """`text` of a value without markup such as ``<i>`` or ``<jats:p>``; other less-than and greater-than signs stay."""
    line = text(value)
    return text(_BLOCK_TAG.sub(" ", _INLINE_TAG.sub("", line))) if "<" in line else line


def pubmed_title(title: str) -> str:
    """`title` without the full stop that PubMed adds, and without the brackets around translated titles."""
    bare = title.removesuffix(".") if not title.endswith("..") else title
    return bare[1:-1].removesuffix(".") if bare.startswith("[") and bare.endswith("]") else bare


def year(value: object) -> int | None:
    """The first year from 1000 to 2100 in `value`."""
    if isinstance(value, str):
        match = _YEAR.search(value[:1000])
        return int(match[0]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1000 <= value <= 2100:
        return None
    return int(value)


def date(value: object) -> str:
    """The ISO date at the beginning of `value`, as exact as it is: ``2020``, ``2020-05`` or ``2020-05-17``."""
    match = _DATE.match(value.strip()) if isinstance(value, str) else None
    return day(*match.groups()) if match else ""


def day(of_year: object, month: object = None, of_month: object = None) -> str:
    """The ISO date of a year, a month and a day, up to the first part that is missing or impossible."""
    parts = [f"{known:04d}"] if (known := year(of_year)) else []
    for part, maximum in ((month, 12), (of_month, 31)):
        number = text(part)
        if not parts or not (number.isascii() and number.isdigit() and len(number) < 3 and 1 <= int(number) <= maximum):
            break
        parts.append(f"{int(number):02d}")
    return "-".join(parts)


def mapping(value: object) -> Json:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def strings(value: object) -> list[str]:
    """The texts in a list, or the single text, without duplicates and empty ones."""
    return unique(map(text, value if isinstance(value, list) else [value]))


def unique(values: Iterable[str]) -> list[str]:
    """`values` in order, without duplicates and empty ones."""
    return list(dict.fromkeys(filter(None, values)))


def one_per_scheme(ids: Iterable[str | None]) -> list[str]:
    """The first identifier of each scheme: a record names its own first, and a link may lead to another paper."""
    first: dict[str, str] = {}
    for each in ids:
        if each:
            first.setdefault(each.partition(":")[0], each)
    return list(first.values())


def listed_keywords(line: str) -> list[str]:
    """Keywords on one line, separated by semicolons or else by commas."""
    return unique(part.strip() for part in line.split(";" if ";" in line else ","))
