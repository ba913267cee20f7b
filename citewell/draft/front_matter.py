"""The YAML header of a Markdown document: who wrote it, what it is about, and where its references are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from citewell.draft.bibliography import add_works
from citewell.papers import Draft
from citewell.sources.clean import text as cleaned

_AND = re.compile(r"\s+and\s+|\s*[;&]\s*|,\s+(?=\w+\.?\s+\w)")
_KEY = re.compile(r"(?<![\w@])@\{?([\w*][^\s,;\]{}]*)")
_LONGEST = 200_000


def take(draft: Draft, written: str, plain: Callable[[object], str]) -> list[str]:
    """Take title, authors and abstract from a YAML header, each made `plain`; the bibliographies that it names."""
    front = _yaml(written)
    if not isinstance(front, dict):
        return []
    title, subtitle = plain(front.get("title")), plain(front.get("subtitle"))
    joint = " " if title.endswith(("?", "!", ":")) else ": "
    draft.title = joint.join(filter(None, (title, subtitle)))
    draft.abstract = plain(front.get("abstract"))
    people = _listed(front.get("author") or front.get("authors"))
    draft.authors = [name for each in people for name in _AND.split(_person(each, plain)) if name]
    nocite = front.get("nocite")
    draft.listed = _KEY.findall(nocite if isinstance(nocite, str) else "")
    add_works(draft, [each for each in _listed(front.get("references")) if isinstance(each, dict)])
    return [name for each in _listed(front.get("bibliography")) if (name := cleaned(str(each)))]


def _yaml(written: str) -> object:
    """What a YAML header says; nothing where it is damaged. An alias is damage: a few can stand for gigabytes."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("an alias")
            return super().compose_node(parent, index)

    try:
        return yaml.load(written, Plain) if len(written) <= _LONGEST else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _person(value: Any, plain: Callable[[object], str]) -> str:
    if isinstance(value, dict):
        name = value.get("name", value)
        if isinstance(name, dict):
            given, family = (str(name.get(part) or "") for part in ("given", "family"))
            return cleaned(f"{given} {family}") if given or family else cleaned(str(name.get("literal") or ""))
        return cleaned(str(name or ""))
    return plain(value)
