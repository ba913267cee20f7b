"""A word for the content of files: another content, another word."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path


def digest(files: Iterable[Path], *texts: str) -> str:
    """Of what some files hold, and of some texts."""
    found = blake2b("\0".join(texts).encode(), digest_size=16)
    for path in files:
        with path.open("rb") as stream:
            while some := stream.read(1 << 22):
                found.update(some)
        found.update(b"\0")
    return found.hexdigest()
