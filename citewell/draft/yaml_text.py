"""Parses YAML that users write: headers of documents, and bibliographies."""

from __future__ import annotations

from typing import Any


def parse_yaml(text: str, max_length: int = 5_000_000) -> object:
    """The content of a YAML text; None where it is damaged or too long.

    Aliases are refused: a few can expand to gigabytes.
    """
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases are not supported")
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, Plain) if len(text) <= max_length else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
