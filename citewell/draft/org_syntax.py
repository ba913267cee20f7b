"""Citations as Org writes them: ``[cite:@key]``, or ``cite:key`` in drafts that use org-ref."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from citewell.draft.gaps import is_key
from citewell.papers import Citation, Draft

_ORG = re.compile(r"\[cite(?:/[\w/-]+)?:")
_REF = re.compile(r"(?:\[\[)?([A-Za-z]*[cC]ite[A-Za-z]*\*?):(&?)")
_PLACEHOLDER = re.compile(r"@(?:\?+|(?:TODO|XXX+|TBD|FIXME)\b)?(?=[\s;\],]|$)", re.IGNORECASE)
_SPLIT = re.compile(r"[,;][ \t]?")


def new(draft: Draft, keys: Sequence[str]) -> str:
    """A citation in the syntax that the draft uses most."""
    used = Counter[str]()
    for citation in draft.citations:
        source = draft.sources[citation.place.file][citation.place.begin : citation.place.end]
        if citation.keys and (ref := _REF.match(source)):
            name = ref[1] if ref[1].lower() not in ("citet", "textcite") else "cite"
            used[f"{name}:{ref[2]}"] += 1
        elif citation.keys:
            used[""] += 1
    style = used.most_common(1)[0][0] if used else ""
    return _link(style, keys) if style else f"[cite:{_group(keys)}]"


def filled(draft: Draft, citation: Citation, source: str, keys: Sequence[str], nested: bool) -> str:
    """The source of a citation or a gap with further keys."""
    if nested:
        return _group(keys)
    keys = [key for key in keys if key not in citation.keys]
    if not keys:
        return source
    if _ORG.match(source) and source.endswith("]"):
        if citation.keys:
            return f"{source[:-1]};{_group(keys)}]"
        head = _ORG.match(source)
        assert head is not None, "matched above"
        placeholder = _PLACEHOLDER.search(source, head.end())
        if placeholder:
            return f"{source[: placeholder.start()]}{_group(keys)}{source[placeholder.end() :]}"
        inside = source[head.end() : -1].strip()
        return f"{head[0]}{f'{inside} ' if inside and is_key(inside) else ''}{_group(keys)}]"
    if ref := _REF.match(source):
        separator = ";" if ref[2] else ","
        if source.startswith("[["):
            close = source.find("]")
            added = separator.join(f"{ref[2]}{key}" for key in keys)
            return f"{source[:close]}{separator}{added}{source[close:]}" if citation.keys else f"[[{ref[1]}:{added}]]"
        existing = [key.lstrip("&") for key in _SPLIT.split(source[ref.end() :]) if is_key(key.lstrip("&"))]
        return _link(f"{ref[1]}:{ref[2]}", [*existing, *keys])
    if source.startswith("@"):
        return f"[cite/t:{_group(keys)}]"
    return new(draft, keys)


def _group(keys: Sequence[str]) -> str:
    return ";".join(f"@{key}" for key in keys)


def _link(style: str, keys: Sequence[str]) -> str:
    mark = "&" if style.endswith("&") else ""
    return style + (";" if mark else ",").join(f"{mark if at else ''}{key}" for at, key in enumerate(keys))
