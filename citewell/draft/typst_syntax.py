"""Citations as Typst writes them: ``@key``, or ``#cite(label("key"))`` for a key that is not a valid reference."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.papers import Citation

_PLAIN = re.compile(r"[\w-](?:[\w:.-]*[\w-])?")
_PLACEHOLDER = re.compile(r"@\?+")
_CITE = re.compile(r"#?cite\(\s*(<[^<>]*>|label\(\"[^\"]*\"\))?")


def new(keys: Sequence[str], after: str = "") -> str:
    """A citation; `after` is the character that follows it."""
    cited = [_reference(key) for key in keys]
    if after and (after.isalnum() or after in "_-[(") and cited[-1].startswith("@"):
        cited[-1] = f"#cite(<{keys[-1]}>)"  # the key would not end here
    return " ".join(cited)


def filled(citation: Citation, source: str, keys: Sequence[str], after: str = "") -> str:
    """The source of a citation or a gap with further keys."""
    if citation.keys:
        others = [key for key in keys if key not in citation.keys]
        return f"{source} {new(others, after)}" if others else source
    if _PLACEHOLDER.match(source):
        first, rest = _PLACEHOLDER.sub(lambda _: _reference(keys[0]), source, count=1), keys[1:]
        if not rest and source.endswith("?"):
            return new(keys, after)
        return f"{first} {new(rest, after)}" if rest else first
    if (cite := _CITE.match(source)) and source.endswith(")"):
        label = f"<{keys[0]}>" if _PLAIN.fullmatch(keys[0]) else f'label("{keys[0]}")'
        first = f"{source[: cite.start(1) if cite[1] else cite.end()]}{label}{source[cite.end() :]}"
        return f"{first} {new(keys[1:], after)}" if keys[1:] else first
    return new(keys, after)


def _reference(key: str) -> str:
    return f"@{key}" if _PLAIN.fullmatch(key) else f'#cite(label("{key}"))'
