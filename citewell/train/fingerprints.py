"""Fingerprints of files, to detect changes of what a result was made from."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path


def fingerprint(files: Iterable[Path], *texts: str) -> str:
    """A hash of the content of files and of some texts."""
    state = blake2b("\0".join(texts).encode(), digest_size=16)
    for path in files:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 22):
                state.update(chunk)
        state.update(b"\0")
    return state.hexdigest()
