"""Families: definitions that differ only in a few choices, written once.

A family is data with four entries: ``prefix``, the first word of every name; ``common``, what all members have; ``parts``, each
a table of choices by name, with what a choice changes; and ``members``, which choices go together (a part that is left out has
its first choice). The name of a member is the prefix and the names of its choices, joined by hyphens; a choice whose name is
empty adds nothing. The line ``about`` is that of ``common``, then those of the choices. ``{name}`` in a text is the name of the
member, without the prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

Choices = Mapping[str, Sequence[str]]
"""For each part the names of its choices."""


def expand(family: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every member of a family by its name."""
    expanded = {}
    for choices in _members(family):
        for chosen in product(*choices.values()):
            name = "-".join(filter(None, chosen))
            member = dict(family["common"])
            abouts = []
            for part, choice in zip(choices, chosen, strict=True):
                changes = dict(family["parts"][part][choice])
                abouts.append(changes.pop("about", ""))
                member = merge(member, changes)
            member["about"] = f"{member['about']} {', '.join(filter(None, abouts))}"
            expanded[_join(family["prefix"], name)] = _named(member, name)
    return expanded


def pattern(family: Mapping[str, Any]) -> str:
    """The names of all members in a few words: ``a-(b|c)[-d]`` for a-b, a-c, a-b-d and a-c-d."""
    patterns = []
    for choices in _members(family):
        words = family["prefix"]
        for names in choices.values():
            given = [name for name in names if name]
            if "" in names:
                words += f"[-{'|-'.join(given)}]" if given else ""
            else:
                words = _join(words, f"({'|'.join(given)})" if len(given) > 1 else given[0])
        patterns.append(words)
    return ", ".join(patterns)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of both; inner tables are merged too, and otherwise those `above` count."""
    merged = {
        name: merge(below[name], value) if isinstance(value, dict) and isinstance(below.get(name), dict) else value
        for name, value in above.items()
    }
    return {**below, **merged}


def _members(family: Mapping[str, Any]) -> Iterator[Choices]:
    """The choices of each group of members, in the order of the parts."""
    for given in family["members"]:
        yield {part: given.get(part, [next(iter(known))]) for part, known in family["parts"].items()}


def _join(first: str, second: str) -> str:
    return "-".join(filter(None, (first, second)))


def _named(value: Any, name: str) -> Any:
    """A definition with the name filled in."""
    if isinstance(value, str):
        return value.replace("{name}", name)
    if isinstance(value, Mapping):
        return {key: _named(inner, name) for key, inner in value.items()}
    return [_named(inner, name) for inner in value] if isinstance(value, list) else value
