"""Reads the YAML header of a Markdown document: title, authors, abstract and bibliography."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from citewell.draft.bibliography import add_works
from citewell.draft.yaml_text import parse_yaml
from citewell.papers import Draft
from citewell.sources.clean import text as cleaned

_AND = re.compile(r"\s+and\s+|\s*[;&]\s*|,\s+(?=\w+\.?\s+\w)")
_KEY = re.compile(r"(?<![\w@])@\{?([\w*][^\s,;\]{}]*)")
_BRACKETS = re.compile(r"\s?\([^()]*\)")
_DEGREES = re.compile(r"(?:,?\s(?:PhD|Ph\.D\.|MD|M\.D\.|MBBS|MSc|MScN|BSc|BScN|MPH|MA|RN|DPhil|Dr\.?)\b\.?)+$")
"""Degrees after a name, which are not a part of it."""
_MAX_LENGTH = 200_000


def read_header(draft: Draft, header: str, plain: Callable[[object], str]) -> list[str]:
    """Read title, authors and abstract from a YAML header; returns the names of its bibliographies.

    `plain` turns a value with mark-up into plain text.
    """
    front = parse_yaml(header, _MAX_LENGTH)
    if not isinstance(front, dict):
        return []
    title, subtitle = plain(front.get("title")), plain(front.get("subtitle"))
    separator = " " if title.endswith(("?", "!", ":")) else ": "
    draft.title = separator.join(filter(None, (title, subtitle)))
    draft.abstract = plain(front.get("abstract"))
    people = _as_list(front.get("author") or front.get("authors"))
    draft.authors = [name for each in people for name in _AND.split(_person(each, plain)) if name]
    nocite = front.get("nocite")
    draft.listed = _KEY.findall(nocite if isinstance(nocite, str) else "")
    add_works(draft, [each for each in _as_list(front.get("references")) if isinstance(each, dict)])
    return [name for each in _as_list(front.get("bibliography")) if (name := cleaned(str(each)))]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _person(value: Any, plain: Callable[[object], str]) -> str:
    return _DEGREES.sub("", _BRACKETS.sub("", unescape(_name(value, plain)))).strip()


def _name(value: Any, plain: Callable[[object], str]) -> str:
    if isinstance(value, dict):
        only = next(iter(value)) if len(value) == 1 else ""
        # Besides ``name: Ada Berg`` there is ``Ada Berg: {institute: ...}``.
        name = only if isinstance(value.get(only), dict) and only != "name" else value.get("name", value)
        if isinstance(name, dict):
            given, family = (str(name.get(part) or "") for part in ("given", "family"))
            return cleaned(f"{given} {family}") if given or family else cleaned(str(name.get("literal") or ""))
        return cleaned(str(name or ""))
    return plain(value)
